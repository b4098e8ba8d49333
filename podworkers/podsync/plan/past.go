package plan

import "strings"

// past is what is remembered of one container. The zero value: nothing is.
type past struct {
	loop
	replaced string // the ID of the attempt that was told to end for the sake of the next one
	created  Made   // what the newest record was made with
	refused  refusal
	reason   Reason // why the last start failed
}

// pasts has the past of each container, by name: a search tree that is never written to in
// place, so that a changed copy of it shares all but one path with the original. The rank
// of a node is above those of its children and a hash of its name, which keeps it flat.
type pasts struct {
	name        string
	past        *past
	rank        uint32
	left, right *pasts
}

// of is the past of a container. It is not changed.
func (t *pasts) of(name string) past {
	for t != nil {
		switch order := strings.Compare(name, t.name); {
		case order == 0:
			return *t.past
		case order < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return past{}
}

// with is a copy with another past of one container.
func (t *pasts) with(name string, p *past) *pasts {
	if t == nil {
		return &pasts{name: name, past: p, rank: rankOfName(name)}
	}
	n := *t
	switch order := strings.Compare(name, t.name); {
	case order == 0:
		n.past = p
	case order < 0:
		n.left = t.left.with(name, p)
		if up := n.left; up.rank > n.rank {
			n.left, up.right = up.right, &n
			return up
		}
	default:
		n.right = t.right.with(name, p)
		if up := n.right; up.rank > n.rank {
			n.right, up.left = up.left, &n
			return up
		}
	}
	return &n
}

// each calls yield for each container in the order of their names, until that is false.
func (t *pasts) each(yield func(string, *past) bool) bool {
	return t == nil || t.left.each(yield) && yield(t.name, t.past) && t.right.each(yield)
}

// isReplaced reports whether a container with an ID, as in a record or a status, was told
// to end for the sake of its next attempt.
func (t *pasts) isReplaced(name, id string) bool {
	told := t.of(name).replaced
	return told != "" && (id == told || strings.HasSuffix(id, "://"+told))
}

// code is the exit code of a container's end that policies are asked about.
func (t *pasts) code(name, id string, code int32) int32 {
	if t.isReplaced(name, id) {
		return exitUnknown
	}
	return code
}

// noneReplaced reports whether no container was told to end for the sake of its next attempt.
func (t *pasts) noneReplaced() bool {
	return t.each(func(_ string, p *past) bool { return p.replaced == "" })
}

// rankOfName is FNV-1a with its bits mixed, since names are often alike but for their end.
func rankOfName(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
