package nn

// Last returns the module that computes an output of m: the last one of a Sequential, and
// the node of a Graph. It is nil for an input that a graph returns as it is.
func Last(m Module, output int) Module {
	switch m := m.(type) {
	case Sequential:
		if len(m) > 0 {
			return Last(m[len(m)-1], output)
		}
	case *Graph:
		if output < 0 || output >= len(m.outputs) || m.outputs[output].node < 0 {
			return nil
		}
		v := m.outputs[output]
		return Last(m.Nodes[v.node].Module, max(0, v.output))
	}
	return m
}
