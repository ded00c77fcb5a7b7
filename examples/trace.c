ctsc_trace_begin(s, NULL);
ctsc_value *x = ctsc_input(s, "x", example), *w = ctsc_parameter(s, "fc.weight", weight);
ctsc_value *y = ctsc_relu(s, ctsc_linear(s, x, w, NULL));
ctsc_trace_end(s, y, &module, e);
