def forward(x):
    y = (x + 1  # error: SyntaxError: '(' was never closed # at: (
    return y  # note: expected ')' after the expression in parentheses, but found 'return'
