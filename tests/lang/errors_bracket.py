def forward(x):
    y = (x + 1  # note: '(' was never closed # at: (
    return y  # error: expected ')' after the expression in parentheses, but found 'return'
