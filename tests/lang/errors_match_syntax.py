def forward(v: list):
    match v:
        case [*a, *b]:  # error: multiple starred expressions in sequence pattern
            return 2
    return 0
