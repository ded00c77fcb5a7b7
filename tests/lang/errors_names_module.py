import torhc  # error: ModuleNotFoundError: No module named 'torhc' # note: did you mean 'torch'? # at: torhc
