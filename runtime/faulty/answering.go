package faulty

import "github.com/podkeel/podkeel/runtime"

// answering is with for the powers that include canAnswer.
func (b *base) answering(powers int) runtime.Runtime {
	e, x, l, s, u, a := events{b}, execs{b}, logs{b}, stats{b}, updates{b}, answers{b}
	switch powers {
	case canAnswer:
		return struct {
			*base
			answers
		}{b, a}
	case canEvents | canAnswer:
		return struct {
			*base
			events
			answers
		}{b, e, a}
	case canExec | canAnswer:
		return struct {
			*base
			execs
			answers
		}{b, x, a}
	case canEvents | canExec | canAnswer:
		return struct {
			*base
			events
			execs
			answers
		}{b, e, x, a}
	case canLog | canAnswer:
		return struct {
			*base
			logs
			answers
		}{b, l, a}
	case canEvents | canLog | canAnswer:
		return struct {
			*base
			events
			logs
			answers
		}{b, e, l, a}
	case canExec | canLog | canAnswer:
		return struct {
			*base
			execs
			logs
			answers
		}{b, x, l, a}
	case canEvents | canExec | canLog | canAnswer:
		return struct {
			*base
			events
			execs
			logs
			answers
		}{b, e, x, l, a}
	case canStats | canAnswer:
		return struct {
			*base
			stats
			answers
		}{b, s, a}
	case canEvents | canStats | canAnswer:
		return struct {
			*base
			events
			stats
			answers
		}{b, e, s, a}
	case canExec | canStats | canAnswer:
		return struct {
			*base
			execs
			stats
			answers
		}{b, x, s, a}
	case canEvents | canExec | canStats | canAnswer:
		return struct {
			*base
			events
			execs
			stats
			answers
		}{b, e, x, s, a}
	case canLog | canStats | canAnswer:
		return struct {
			*base
			logs
			stats
			answers
		}{b, l, s, a}
	case canEvents | canLog | canStats | canAnswer:
		return struct {
			*base
			events
			logs
			stats
			answers
		}{b, e, l, s, a}
	case canExec | canLog | canStats | canAnswer:
		return struct {
			*base
			execs
			logs
			stats
			answers
		}{b, x, l, s, a}
	case canEvents | canExec | canLog | canStats | canAnswer:
		return struct {
			*base
			events
			execs
			logs
			stats
			answers
		}{b, e, x, l, s, a}
	case canUpdate | canAnswer:
		return struct {
			*base
			updates
			answers
		}{b, u, a}
	case canEvents | canUpdate | canAnswer:
		return struct {
			*base
			events
			updates
			answers
		}{b, e, u, a}
	case canExec | canUpdate | canAnswer:
		return struct {
			*base
			execs
			updates
			answers
		}{b, x, u, a}
	case canEvents | canExec | canUpdate | canAnswer:
		return struct {
			*base
			events
			execs
			updates
			answers
		}{b, e, x, u, a}
	case canLog | canUpdate | canAnswer:
		return struct {
			*base
			logs
			updates
			answers
		}{b, l, u, a}
	case canEvents | canLog | canUpdate | canAnswer:
		return struct {
			*base
			events
			logs
			updates
			answers
		}{b, e, l, u, a}
	case canExec | canLog | canUpdate | canAnswer:
		return struct {
			*base
			execs
			logs
			updates
			answers
		}{b, x, l, u, a}
	case canEvents | canExec | canLog | canUpdate | canAnswer:
		return struct {
			*base
			events
			execs
			logs
			updates
			answers
		}{b, e, x, l, u, a}
	case canStats | canUpdate | canAnswer:
		return struct {
			*base
			stats
			updates
			answers
		}{b, s, u, a}
	case canEvents | canStats | canUpdate | canAnswer:
		return struct {
			*base
			events
			stats
			updates
			answers
		}{b, e, s, u, a}
	case canExec | canStats | canUpdate | canAnswer:
		return struct {
			*base
			execs
			stats
			updates
			answers
		}{b, x, s, u, a}
	case canEvents | canExec | canStats | canUpdate | canAnswer:
		return struct {
			*base
			events
			execs
			stats
			updates
			answers
		}{b, e, x, s, u, a}
	case canLog | canStats | canUpdate | canAnswer:
		return struct {
			*base
			logs
			stats
			updates
			answers
		}{b, l, s, u, a}
	case canEvents | canLog | canStats | canUpdate | canAnswer:
		return struct {
			*base
			events
			logs
			stats
			updates
			answers
		}{b, e, l, s, u, a}
	case canExec | canLog | canStats | canUpdate | canAnswer:
		return struct {
			*base
			execs
			logs
			stats
			updates
			answers
		}{b, x, l, s, u, a}
	case canEvents | canExec | canLog | canStats | canUpdate | canAnswer:
		return struct {
			*base
			events
			execs
			logs
			stats
			updates
			answers
		}{b, e, x, l, s, u, a}
	}
	return b
}
