"""Programs of statements: names, views, views of views, and what is written through them.

`draft` knows which values share memory, `views` and `writes` are the steps of straight programs,
`bodies` those of functions, loops and branches, `drawing` draws a program of them and of all other
ops. Everything computed lies in C order, as it does in nbgrad.
"""
