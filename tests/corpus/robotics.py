"""Kinematics, control and planning."""

import numpy as np

from corpus import AGREED, case, definite, near, normal, uniform


@case(normal(3), uniform(0.5, 1.5, 3))
def forward_kinematics(joints, lengths):
    """The points of a planar arm."""
    points = [np.array([0.0, 0.0])]
    angle = 0.0
    for q, l in zip(joints, lengths):
        angle += q
        points.append(points[-1] + l * np.array([np.cos(angle), np.sin(angle)]))
    return np.array(points)


def dh_matrix(theta, d, a, alpha):
    ct, st = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


@case(normal(3), uniform(0.2, 0.8, 3))
def dh_chain(q, a):
    params = [(q[0], 0.4, a[0], np.pi / 2), (q[1], 0, a[1], 0), (q[2], 0.1, a[2], -np.pi / 2)]
    T = np.eye(4)
    origins = np.zeros((len(params) + 1, 3))
    for i, p in enumerate(params):
        T = T @ dh_matrix(*p)
        origins[i + 1] = T[:3, 3]
    return origins, T[:3, :3]


@case(normal(2), uniform(0.8, 1.2, 2))
def inverse_kinematics(q, lengths, target=(0.9, 0.7), steps=2):
    """Damped least squares with the Jacobian by hand."""
    l1, l2 = lengths
    for _ in range(steps):
        J = np.zeros((2, 2))
        J[0, 0] = -l1 * np.sin(q[0]) - l2 * np.sin(q[0] + q[1])
        J[0, 1] = -l2 * np.sin(q[0] + q[1])
        J[1, 0] = l1 * np.cos(q[0]) + l2 * np.cos(q[0] + q[1])
        J[1, 1] = l2 * np.cos(q[0] + q[1])
        x = l1 * np.cos(q[0]) + l2 * np.cos(q[0] + q[1])
        y = l1 * np.sin(q[0]) + l2 * np.sin(q[0] + q[1])
        error = np.asarray(target) - np.array([x, y])
        q = q + J.T @ np.linalg.solve(J @ J.T + 0.3 * np.eye(2), error)
    return q


class Slam:
    """The pose and landmarks in one vector, with the covariance of all."""

    def __init__(self, pose, n_landmarks):
        self.mu = np.zeros(3 + 2 * n_landmarks)
        self.mu[:3] = pose
        self.cov = np.zeros((len(self.mu), len(self.mu)))
        for i in range(3, len(self.mu)):
            self.cov[i, i] = 4.0

    def move(self, v, w, dt=0.5):
        theta = self.mu[2]
        self.mu[0] += v * dt * np.cos(theta)
        self.mu[1] += v * dt * np.sin(theta)
        self.mu[2] += w * dt
        G = np.eye(len(self.mu))
        G[0, 2] = -v * dt * np.sin(theta)
        G[1, 2] = v * dt * np.cos(theta)
        self.cov = G @ self.cov @ G.T
        self.cov[:3, :3] += np.diag([0.02, 0.02, 0.01])

    def observe(self, j, z):
        k = 3 + 2 * j
        delta = self.mu[k : k + 2] - self.mu[:2]
        q = delta @ delta
        r = np.sqrt(q)
        H = np.zeros((2, len(self.mu)))
        H[:, 0:3] = np.array([[-r * delta[0], -r * delta[1], 0], [delta[1], -delta[0], -q]]) / q
        H[:, k : k + 2] = np.array([[r * delta[0], r * delta[1]], [-delta[1], delta[0]]]) / q
        bearing = np.arctan2(delta[1], delta[0]) - self.mu[2]
        S = H @ self.cov @ H.T + 0.1 * np.eye(2)
        K = np.linalg.solve(S, H @ self.cov).T
        self.mu = self.mu + K.dot(z - np.array([r, bearing]))
        self.cov = (np.eye(len(self.mu)) - K @ H) @ self.cov


@case(near([0.1, 0.2, 0.3]), near([2.0, 1.5]), near([2.3, 0.2]))
def ekf_slam(pose, landmark, z):
    slam = Slam(pose, 1)
    slam.mu[3:] = landmark
    slam.move(1.0, 0.1)
    slam.observe(0, z)
    return slam.mu, np.trace(slam.cov)


@case(normal(4), normal(3))
def quaternion_rotation(q, v):
    q = q / np.linalg.norm(q)
    w, x, y, z = q
    R = np.empty((3, 3))
    R[0] = [1 - 2 * (y**2 + z**2), 2 * (x * y - z * w), 2 * (x * z + y * w)]
    R[1] = [2 * (x * y + z * w), 1 - 2 * (x**2 + z**2), 2 * (y * z - x * w)]
    R[2] = [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x**2 + y**2)]
    pitch = np.arcsin(np.clip(-R[2, 0], -1.0, 1.0))
    euler = np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
    return R @ v, euler


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


@case(uniform(0.2, 1.0, 3), normal(3))
def rodrigues(w, p):
    theta = np.linalg.norm(w)
    K = skew(w / theta)
    R = np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K.dot(K)
    return R.dot(p), np.cross(w, p)


@case(near([0.0, 0.3, 0.2], 0.2), uniform(0.5, 1.0), refused=AGREED)
def pure_pursuit(pose, lookahead, L=0.5, steps=3):
    """Follow a path; the goal is the first point that is far enough."""
    cx = np.linspace(0, 4, 9)
    cy = np.sin(cx / 2)
    x, y, yaw = pose
    for _ in range(steps):
        goal = len(cx) - 1
        for i in range(len(cx)):
            if np.hypot(cx[i] - x, cy[i] - y) > lookahead and cx[i] > x:
                goal = i
                break
        alpha = np.arctan2(cy[goal] - y, cx[goal] - x) - yaw
        steer = np.arctan2(2.0 * L * np.sin(alpha) / lookahead, 1.0)
        x += 0.3 * np.cos(yaw)
        y += 0.3 * np.sin(yaw)
        yaw += 0.3 / L * np.tan(steer)
    return x, y, yaw


@case(normal(4), normal(3, 1), near([[1.0, 0.2], [0.0, 0.9]]))
def mpc_cost(x0, controls, A, horizon=3):
    """Two masses side by side that one input pushes."""
    Q, R = np.diag([1.0, 0.1]), 0.05 * np.identity(1)
    B = np.array([[0.0], [0.2]])
    states = x0.reshape(2, 2)
    cost = 0.0
    for t in range(horizon):
        u = np.clip(controls[t], -1.0, 1.0)
        states = np.vstack([(A @ s[:, None] + B @ u[:, None]).T for s in states])
        cost += np.einsum("ij,jk,ik->", states, Q, states) + u @ R @ u
    return cost + 10 * np.sum(states[-1] ** 2)


@case(near([[1.0, 0.1], [0.0, 1.0]]), near([[0.005], [0.1]]), definite(2))
def lqr(A, B, Q, steps=4):
    R = np.eye(B.shape[1]) * 0.5
    P = Q
    for _ in range(steps):
        K = np.linalg.inv(R + B.T @ P @ B) @ (B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    return K, P


@case(normal(5, 2))
def smooth_path(path, alpha=0.1, beta=0.3, iterations=2):
    """Gradient descent by elements, the ends fixed."""
    new = np.copy(path)
    for _ in range(iterations):
        for i in range(1, len(path) - 1):
            for j in range(len(path[0])):
                aux = new[i][j]
                new[i][j] += alpha * (path[i][j] - new[i][j])
                new[i][j] += beta * (new[i - 1][j] + new[i + 1][j] - 2.0 * new[i][j])
    return new, aux


class PID:
    def __init__(self, kp, ki=0.1, kd=0.05, limit=(-2.0, 2.0)):
        self.gains = kp, ki, kd
        self.limit = limit
        self.integral = 0
        self.last = None

    def __call__(self, error, dt):
        kp, ki, kd = self.gains
        self.integral += error * dt
        slope = 0 if self.last is None else (error - self.last) / dt
        self.last = error
        return np.clip(kp * error + ki * self.integral + kd * slope, *self.limit)


@case(uniform(0.5, 1.5), near(1.0))
def pid_loop(kp, setpoint, steps=5, dt=0.1):
    pid = PID(kp)
    x, log = 0.0, []
    for _ in range(steps):
        x += (pid(setpoint - x, dt) - 0.3 * x) * dt
        log.append(x)
    return np.array(log)


@case(normal(2), normal(3, 2), uniform(0.5, 1.0))
def potential_field(position, obstacles, radius):
    goal = np.array([3.0, 3.0])
    for _ in range(2):
        force = np.zeros(2)
        force += 0.5 * (goal - position)
        for o in obstacles:
            d = np.linalg.norm(position - o)
            force += 0.1 * np.exp(-d / radius) * (position - o) / d
        position = position + 0.1 * force
    return position


@case(uniform(-1.0, 1.0, 3), uniform(-1.0, 1.0, 3))
def quintic_trajectory(start, end, T=2.0, n=4):
    """Position, speed and acceleration at both ends."""
    A = np.array(
        [[T**3, T**4, T**5], [3 * T**2, 4 * T**3, 5 * T**4], [6 * T, 12 * T**2, 20 * T**3]]
    )
    a0, a1, a2 = start[0], start[1], start[2] / 2.0
    b = np.array([end[0] - a0 - a1 * T - a2 * T**2, end[1] - a1 - 2 * a2 * T, end[2] - 2 * a2])
    a3, a4, a5 = np.linalg.solve(A, b)
    t = np.linspace(0, T, n)
    return a0 + a1 * t + a2 * t**2 + a3 * t**3 + a4 * t**4 + a5 * t**5


@case(normal(4, 2), normal(4, 2))
def icp_step(source, target):
    """The rotation and translation between pairs of points."""
    ps, pt = source.mean(axis=0), target.mean(axis=0)
    H = np.zeros((2, 2))
    for s, t in zip(source - ps, target - pt):
        H += np.outer(s, t)
    angle = np.arctan2(H[0, 1] - H[1, 0], H[0, 0] + H[1, 1])
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return R, pt - R @ ps


@case(normal(3), normal(2, scale=0.3))
def odometry(pose, rates):
    """Homogeneous transforms of a differential drive."""
    left, right = rates
    v, w = (left + right) / 2, (right - left) / 0.5
    T = np.identity(3)
    T[:2, :2] = [[np.cos(pose[2]), -np.sin(pose[2])], [np.sin(pose[2]), np.cos(pose[2])]]
    T[:2, 2] = pose[:2]
    for _ in range(2):
        step = np.eye(3)
        step[0, 0] = step[1, 1] = np.cos(w)
        step[1, 0] = np.sin(w)
        step[0, 1] = -step[1, 0]
        step[0, 2] = v
        T = np.matmul(T, step)
    return T
