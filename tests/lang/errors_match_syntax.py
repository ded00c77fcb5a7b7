def forward(v: list):
    match v:
        case [*a, *b]:  # error: SyntaxError: multiple starred expressions in sequence pattern
            return 2
    return 0
