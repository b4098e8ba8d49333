package faulty

import "github.com/podkeel/podkeel/runtime"

// with is the wrapper with exactly the given powers. They are found by type
// assertion, so each combination needs a type of its own; those that answer are
// in answering.go.
func (b *base) with(powers int) runtime.Runtime {
	if powers&canAnswer != 0 {
		return b.answering(powers)
	}
	e, x, l, s, u := events{b}, execs{b}, logs{b}, stats{b}, updates{b}
	switch powers {
	case canEvents:
		return struct {
			*base
			events
		}{b, e}
	case canExec:
		return struct {
			*base
			execs
		}{b, x}
	case canEvents | canExec:
		return struct {
			*base
			events
			execs
		}{b, e, x}
	case canLog:
		return struct {
			*base
			logs
		}{b, l}
	case canEvents | canLog:
		return struct {
			*base
			events
			logs
		}{b, e, l}
	case canExec | canLog:
		return struct {
			*base
			execs
			logs
		}{b, x, l}
	case canEvents | canExec | canLog:
		return struct {
			*base
			events
			execs
			logs
		}{b, e, x, l}
	case canStats:
		return struct {
			*base
			stats
		}{b, s}
	case canEvents | canStats:
		return struct {
			*base
			events
			stats
		}{b, e, s}
	case canExec | canStats:
		return struct {
			*base
			execs
			stats
		}{b, x, s}
	case canEvents | canExec | canStats:
		return struct {
			*base
			events
			execs
			stats
		}{b, e, x, s}
	case canLog | canStats:
		return struct {
			*base
			logs
			stats
		}{b, l, s}
	case canEvents | canLog | canStats:
		return struct {
			*base
			events
			logs
			stats
		}{b, e, l, s}
	case canExec | canLog | canStats:
		return struct {
			*base
			execs
			logs
			stats
		}{b, x, l, s}
	case canEvents | canExec | canLog | canStats:
		return struct {
			*base
			events
			execs
			logs
			stats
		}{b, e, x, l, s}
	case canUpdate:
		return struct {
			*base
			updates
		}{b, u}
	case canEvents | canUpdate:
		return struct {
			*base
			events
			updates
		}{b, e, u}
	case canExec | canUpdate:
		return struct {
			*base
			execs
			updates
		}{b, x, u}
	case canEvents | canExec | canUpdate:
		return struct {
			*base
			events
			execs
			updates
		}{b, e, x, u}
	case canLog | canUpdate:
		return struct {
			*base
			logs
			updates
		}{b, l, u}
	case canEvents | canLog | canUpdate:
		return struct {
			*base
			events
			logs
			updates
		}{b, e, l, u}
	case canExec | canLog | canUpdate:
		return struct {
			*base
			execs
			logs
			updates
		}{b, x, l, u}
	case canEvents | canExec | canLog | canUpdate:
		return struct {
			*base
			events
			execs
			logs
			updates
		}{b, e, x, l, u}
	case canStats | canUpdate:
		return struct {
			*base
			stats
			updates
		}{b, s, u}
	case canEvents | canStats | canUpdate:
		return struct {
			*base
			events
			stats
			updates
		}{b, e, s, u}
	case canExec | canStats | canUpdate:
		return struct {
			*base
			execs
			stats
			updates
		}{b, x, s, u}
	case canEvents | canExec | canStats | canUpdate:
		return struct {
			*base
			events
			execs
			stats
			updates
		}{b, e, x, s, u}
	case canLog | canStats | canUpdate:
		return struct {
			*base
			logs
			stats
			updates
		}{b, l, s, u}
	case canEvents | canLog | canStats | canUpdate:
		return struct {
			*base
			events
			logs
			stats
			updates
		}{b, e, l, s, u}
	case canExec | canLog | canStats | canUpdate:
		return struct {
			*base
			execs
			logs
			stats
			updates
		}{b, x, l, s, u}
	case canEvents | canExec | canLog | canStats | canUpdate:
		return struct {
			*base
			events
			execs
			logs
			stats
			updates
		}{b, e, x, l, s, u}
	}
	return b
}
