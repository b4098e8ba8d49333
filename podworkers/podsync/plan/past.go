package plan

import (
	"iter"
	"strings"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// past is the memory of one container. The zero value is that of a container without attempts.
type past struct {
	start   attempt
	created creation // what the newest container was created with
	// spec is the key of the crash loop: another image, or other resources, begin another loop.
	spec string
	troubles
}

// troubles are empty for a container that has neither ended nor failed.
type troubles struct {
	backoff  backoff.State // of its crash loop
	exit     exit
	replaced string // the ID of the attempt that was stopped for its next attempt
	refused  refusal
	reason   Reason // why the last start failed
	// unpublished is the last start, until the published status shows it.
	unpublished *unpublishedStart
	postStart   string // the ID of the attempt whose PostStart hook has begun and has not succeeded
}

// stored is a past in less memory: most containers have no troubles, and troubles are most of a past.
type stored struct {
	start    attempt
	created  creation
	spec     string
	troubles *troubles // nil: there are none
}

func store(p *past) *stored {
	s := &stored{start: p.start, created: p.created, spec: p.spec}
	if p.troubles != (troubles{}) {
		own := p.troubles
		s.troubles = &own
	}
	return s
}

func (s *stored) load() past {
	p := past{start: s.start, created: s.created, spec: s.spec}
	if s.troubles != nil {
		p.troubles = *s.troubles
	}
	return p
}

// replaced returns replaced of the troubles.
func (s *stored) replaced() string {
	if s == nil || s.troubles == nil {
		return ""
	}
	return s.troubles.replaced
}

// unpublished returns the last start, if the published status does not show it.
func (s *stored) unpublished() *unpublishedStart {
	if s == nil || s.troubles == nil {
		return nil
	}
	return s.troubles.unpublished
}

// postStart returns the ID of the attempt whose PostStart hook is pending.
func (s *stored) postStart() string {
	if s == nil || s.troubles == nil {
		return ""
	}
	return s.troubles.postStart
}

// pasts has the past of each container, by name: a search tree that is never written to in
// place, so that a changed copy of it shares all but one path with the original. The rank
// of a node is above those of its children and a hash of its name, which keeps it flat.
type pasts struct {
	name        string
	past        *stored
	rank        uint32
	left, right *pasts
}

// of is the past of a container.
func (t *pasts) of(name string) past {
	if s := t.find(name); s != nil {
		return s.load()
	}
	return past{}
}

// find is the stored past of a container, or nil. It is not changed.
func (t *pasts) find(name string) *stored {
	for t != nil {
		switch order := strings.Compare(name, t.name); {
		case order == 0:
			return t.past
		case order < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil
}

// with is a copy with another past of one container.
func (t *pasts) with(name string, p *stored) *pasts {
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
func (t *pasts) each(yield func(string, *stored) bool) bool {
	return t == nil || t.left.each(yield) && yield(t.name, t.past) && t.right.each(yield)
}

// all returns the stored past of each container, in the order of their names.
func (t *pasts) all() iter.Seq2[string, *stored] {
	return func(yield func(string, *stored) bool) { t.each(yield) }
}

// isReplaced reports whether a container with an ID, as in a record or a status, was stopped for its next
// attempt.
func (t *pasts) isReplaced(name, id string) bool {
	replaced := t.find(name).replaced()
	return replaced != "" && (id == replaced || strings.HasSuffix(id, "://"+replaced))
}

// code returns the exit code by which the restart policy decides.
func (t *pasts) code(name, id string, code int32) int32 {
	if t.isReplaced(name, id) {
		return exitUnknown
	}
	return code
}

// noneReplaced reports whether no container was stopped for its next attempt.
func (t *pasts) noneReplaced() bool {
	return t.each(func(_ string, p *stored) bool { return p.replaced() == "" })
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
