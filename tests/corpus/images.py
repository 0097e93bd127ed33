"""Image filters, by loops and by slices."""

import numpy as np

from corpus import MASK, case, near, normal, uniform


@case(uniform(0.0, 1.0, 3, 3), uniform(0.5, 1.0), uniform(0.2, 0.5))
def bilateral(img, sigma_s, sigma_r, radius=1):
    h, w = img.shape
    out = np.zeros((h, w))
    padded = np.pad(img, radius, mode="edge")
    for y in range(h):
        for x in range(w):
            total, norm = 0.0, 0.0
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    v = padded[y + radius + dy, x + radius + dx]
                    g = np.exp(-(dx**2 + dy**2) / (2 * sigma_s**2))
                    g *= np.exp(-((v - img[y, x]) ** 2) / (2 * sigma_r**2))
                    total += g * v
                    norm += g
            out[y, x] = total / norm
    return out


@case(normal(5, 5))
def sobel(img):
    Kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    Ky = Kx.T
    rows, cols = img.shape
    mag = np.zeros(img.shape)
    for i in range(rows - 2):
        for j in range(cols - 2):
            gx = np.sum(np.multiply(Kx, img[i : i + 3, j : j + 3]))
            gy = np.sum(np.multiply(Ky, img[i : i + 3, j : j + 3]))
            mag[i + 1, j + 1] = np.sqrt(gx**2 + gy**2)
    mag *= 255.0 / mag.max()
    return mag


@case(normal(3, 3), uniform(0.2, 0.6))
def soft_histogram(img, width, bins=4):
    centers = np.linspace(-1.5, 1.5, bins)
    hist = np.zeros(bins)
    for k in range(bins):
        hist[k] = np.sum(np.exp(-((img.ravel() - centers[k]) ** 2) / (2 * width**2)))
    hist /= hist.sum()
    return hist, np.cumsum(hist)


@case(normal(4, 4))
def median_filter(img):
    h, w = img.shape
    out = img.copy()
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            window = []
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    window.append(img[i + di, j + dj])
            window = np.sort(np.array(window))
            out[i, j] = window[len(window) // 2]
    return out


@case(normal(4, 4), uniform(0.1, 0.4), uniform(0.1, 0.4))
def bilinear_shift(img, dx, dy):
    """Move by a fraction of a pixel."""
    h, w = img.shape
    yy, xx = np.mgrid[0 : h - 1, 0 : w - 1]
    x, y = xx + dx, yy + dy
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    wx, wy = x - x0, y - y0
    Ia, Ib = img[y0, x0], img[y0 + 1, x0]
    Ic, Id = img[y0, x0 + 1], img[y0 + 1, x0 + 1]
    return Ia * (1 - wx) * (1 - wy) + Ib * (1 - wx) * wy + Ic * wx * (1 - wy) + Id * wx * wy


def gaussian_kernel(size, sigma):
    ax = np.arange(size) - size // 2
    xx, yy = np.meshgrid(ax, ax)
    kernel = np.exp(-0.5 * (np.square(xx) + np.square(yy)) / np.square(sigma))
    return kernel / np.sum(kernel)


def convolve2d(image, kernel):
    kernel = np.flipud(np.fliplr(kernel))
    k = kernel.shape[0]
    output = np.zeros_like(image)
    padded = np.zeros((image.shape[0] + k - 1, image.shape[1] + k - 1))
    padded[k // 2 : -(k // 2), k // 2 : -(k // 2)] = image
    for x in range(image.shape[1]):
        for y in range(image.shape[0]):
            output[y, x] = (kernel * padded[y : y + k, x : x + k]).sum()
    return output


@case(uniform(0.0, 1.0, 4, 5), uniform(0.6, 1.2))
def unsharp_mask(img, sigma, amount=1.5):
    blurred = convolve2d(img, gaussian_kernel(3, sigma))
    sharp = img + amount * (img - blurred)
    return np.clip(sharp, 0.05, 0.95)


@case(uniform(0.1, 0.9, 2, 3, 3))
def rgb_to_gray_hsv(img):
    rgb = np.moveaxis(img, 0, -1)
    rgb = np.concatenate([rgb, rgb.mean(axis=-1, keepdims=True)], axis=-1)
    gray = np.dot(rgb, [0.299, 0.587, 0.114])
    high, low = rgb.max(axis=-1), rgb.min(axis=-1)
    saturation = np.where(high > 0, (high - low) / high, 0)
    return gray, saturation


@case(uniform(0.0, 1.0, 4, 4), uniform(0.05, 0.2))
def diffusion(img, kappa, steps=2, rate=0.2):
    """Perona and Malik's, by rolled differences."""
    u = np.array(img, dtype=np.float64)
    for _ in range(steps):
        total = np.zeros(u.shape)
        for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
            d = np.roll(u, shift, axis=axis) - u
            total += np.exp(-((d / (kappa + 0.5)) ** 2)) * d
        u += rate * total
    return u


@case(uniform(0.0, 1.0, 4, 4), near([0.9, 0.1, -0.1, 1.1]))
def affine_warp(img, A):
    """Inverse mapping with clamped corners."""
    h, w = img.shape
    M = np.array([[A[0], A[1]], [A[2], A[3]]])
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    grid = np.vstack([xs.flatten(), ys.flatten()])
    src = M @ (grid - 1.5) + 1.5
    sx = np.clip(src[0], 0, w - 1.001)
    sy = np.clip(src[1], 0, h - 1.001)
    x0 = np.floor(sx).astype(np.int64)
    y0 = np.floor(sy).astype(np.int64)
    fx, fy = sx - x0, sy - y0
    top = img[y0, x0] * (1 - fx) + img[y0, x0 + 1] * fx
    bottom = img[y0 + 1, x0] * (1 - fx) + img[y0 + 1, x0 + 1] * fx
    return (top * (1 - fy) + bottom * fy).reshape(h, w)


@case(uniform(0.0, 1.0, 4, 6))
def integral_image_box(img, r=1):
    ii = np.cumsum(np.cumsum(img, axis=0), axis=1)
    ii = np.pad(ii, ((1, 0), (1, 0)), "constant")
    out = np.empty((img.shape[0] - 2 * r, img.shape[1] - 2 * r))
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            a, b = ii[y, x], ii[y, x + 2 * r + 1]
            c, d = ii[y + 2 * r + 1, x], ii[y + 2 * r + 1, x + 2 * r + 1]
            out[y, x] = (d - b - c + a) / (2 * r + 1) ** 2
    return out


@case(normal(5, 5))
def harris(img, k=0.05):
    Iy, Ix = np.gradient(img)
    Sxx, Sxy, Syy = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for y in range(1, 4):
        for x in range(1, 4):
            window = np.ix_(range(y - 1, y + 2), range(x - 1, x + 2))
            Sxx[y - 1, x - 1] = np.sum(Ix[window] ** 2)
            Sxy[y - 1, x - 1] = np.sum(Ix[window] * Iy[window])
            Syy[y - 1, x - 1] = np.sum(Iy[window] ** 2)
    det = Sxx * Syy - Sxy**2
    return det - k * (Sxx + Syy) ** 2


@case(normal(4, 4))
def haar_wavelet(img):
    """One level, in place, rows and columns."""
    out = np.copy(img)
    for axis in (0, 1):
        out = np.swapaxes(out, 0, axis)
        low = (out[0::2] + out[1::2]) / 2
        high = (out[0::2] - out[1::2]) / 2
        half = len(out) // 2
        out[:half], out[half:] = low, high
        out = np.swapaxes(out, 0, axis)
    return out


@case(uniform(0.1, 1.0, 3, 4), uniform(0.8, 2.4), refused=MASK)
def tone_curve(img, gamma):
    stretched = (img - img.min()) / (img.max() - img.min() + 1e-3) + 0.1
    curve = stretched ** (1 / gamma)
    dark = curve < 0.4
    curve[dark] = curve[dark] * 0.5 + 0.2
    return np.round(curve, 2) * 0 + curve


@case(uniform(0.0, 1.0, 3, 3), uniform(0.0, 1.0, 3, 3))
def ssim(a, b, c1=0.01**2, c2=0.03**2):
    mu = {"a": np.mean(a), "b": np.mean(b)}
    var = {"a": np.var(a, ddof=1), "b": np.var(b, ddof=1)}
    cov = np.cov(a.ravel(), b.ravel())[0, 1]
    up = (2 * mu["a"] * mu["b"] + c1) * (2 * cov + c2)
    down = (mu["a"] ** 2 + mu["b"] ** 2 + c1) * (var["a"] + var["b"] + c2)
    psnr = -10 * np.log10(np.mean((a - b) ** 2))
    return up / down, psnr
