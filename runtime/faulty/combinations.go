package faulty

import "github.com/podkeel/podkeel/runtime"

// The features on whose presence decisions hang, as bits.
const (
	canExec = 1 << iota
	canLog
	canAnswer
)

func featuresOf(rt runtime.Runtime) (p int) {
	if _, ok := rt.(runtime.Execer); ok {
		p |= canExec
	}
	if _, ok := rt.(runtime.LogReader); ok {
		p |= canLog
	}
	if _, ok := rt.(runtime.HandlerRunner); ok {
		p |= canAnswer
	}
	return p
}

// Each of these is one such feature of a wrapper.
type (
	execs   struct{ b *base }
	logs    struct{ b *base }
	answers struct{ b *base }
)

// with is the wrapper with exactly the given features. They are found by type
// assertion, so each combination needs a type of its own.
func (b *base) with(features int) runtime.Runtime {
	x, l, a := execs{b}, logs{b}, answers{b}
	switch features {
	case canExec:
		return struct {
			*base
			execs
		}{b, x}
	case canLog:
		return struct {
			*base
			logs
		}{b, l}
	case canExec | canLog:
		return struct {
			*base
			execs
			logs
		}{b, x, l}
	case canAnswer:
		return struct {
			*base
			answers
		}{b, a}
	case canExec | canAnswer:
		return struct {
			*base
			execs
			answers
		}{b, x, a}
	case canLog | canAnswer:
		return struct {
			*base
			logs
			answers
		}{b, l, a}
	case canExec | canLog | canAnswer:
		return struct {
			*base
			execs
			logs
			answers
		}{b, x, l, a}
	}
	return b
}
