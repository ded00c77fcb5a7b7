def forward(n: int):
    match n:  # error: Match aren't supported
        case 1:
            return 2
    return 0
