"""Colourings of sparse patterns: greedy, in a given order of the columns.

Columns of one colour are added in one product. The pattern is given by the columns of its rows
(`indptr`, `indices`), and by the rows of its columns (`tops`, `rows`).
"""

from ..compiler.kernel import kernel


@kernel
def color_columns(indptr, indices, tops, rows, order, colors, taken):
    """Give each column the lowest colour that no column with a common row has.

    `colors` is filled with -1 before; `taken` has an element more than there are columns, all -1.
    Greedy distance-2 colouring: Gebremedhin, Manne and Pothen, "What color is your Jacobian?", SIAM
    Review 47 (2005).
    """
    for k in range(order.size):
        j = order[k]
        for p in range(tops[j], tops[j + 1]):
            row = rows[p]
            for q in range(indptr[row], indptr[row + 1]):
                color = colors[indices[q]]
                if color >= 0:
                    taken[color] = j
        color = 0
        while taken[color] == j:
            color += 1
        colors[j] = color
    return 0


@kernel
def color_stars(indptr, indices, order, colors, taken):
    """Star colouring of a symmetric pattern with its diagonal: neighbours differ, and no path of
    four vertices has two colours, so that symmetric products determine each entry.

    A vertex gets the lowest colour that is allowed beside coloured neighbours (first-fit star
    colouring: Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms",
    SIAM J. Sci. Comput. 29 (2007), algorithm 3.1).
    """
    for k in range(order.size):
        v = order[k]
        for p in range(indptr[v], indptr[v + 1]):
            w = indices[p]
            if w == v:
                continue
            if colors[w] >= 0:
                taken[colors[w]] = v
            for q in range(indptr[w], indptr[w + 1]):
                x = indices[q]
                if x == w or x == v or colors[x] < 0:
                    continue
                if colors[w] < 0:
                    taken[colors[x]] = v
                else:
                    for r in range(indptr[x], indptr[x + 1]):
                        y = indices[r]
                        if y != x and y != w and colors[y] == colors[w]:
                            taken[colors[x]] = v
                            break
        color = 0
        while taken[color] == v:
            color += 1
        colors[v] = color
    return 0
