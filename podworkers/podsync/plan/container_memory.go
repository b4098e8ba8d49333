package plan

import (
	"iter"
	"strings"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// containerMemory is the memory of one container. The zero value belongs to a container without
// attempts.
type containerMemory struct {
	start   lastStart
	created creation // the values with which the newest container was created
	// spec is the crashLoopKey of the container. Another image or other resources begin another
	// crash loop.
	spec string
	restartState
}

// restartState is the part of a containerMemory that is empty for a container that has neither
// exited nor failed to start.
type restartState struct {
	backoff  backoff.State // of its crash loop
	exit     lastExit
	replaced string // the ID of the attempt that was stopped for the next attempt
	refused  startRefusal
	reason   Reason // why the last start failed
	// unpublished is the last start, until the published status shows it.
	unpublished *unpublishedStart
	postStart   string // the ID of the attempt whose postStart hook has not succeeded yet
	// updated has the resources of the last resize; nil: the container was not resized.
	updated *updatedResources
}

// compactMemory is a containerMemory in less space: most containers have no restartState, and it is
// the larger part.
type compactMemory struct {
	start   lastStart
	created creation
	spec    string
	restart *restartState // nil: the restartState is empty
}

// toCompactMemory returns a containerMemory in its compact form. An empty restart state is nil in that form.
func toCompactMemory(p *containerMemory) *compactMemory {
	s := &compactMemory{start: p.start, created: p.created, spec: p.spec}
	if p.restartState != (restartState{}) {
		own := p.restartState
		s.restart = &own
	}
	return s
}

// toContainerMemory returns the containerMemory that the compact form was made from. A nil restart state
// becomes an empty one.
func (s *compactMemory) toContainerMemory() containerMemory {
	p := containerMemory{start: s.start, created: s.created, spec: s.spec}
	if s.restart != nil {
		p.restartState = *s.restart
	}
	return p
}

// replacedID returns the container ID of the attempt that the executor stopped in order to start the next
// attempt. It returns "" if there is no such attempt.
func (s *compactMemory) replacedID() string {
	if s == nil || s.restart == nil {
		return ""
	}
	return s.restart.replaced
}

// findUnpublishedStart returns the last start of the container if the published pod status does not show it
// yet. It returns nil if the status shows it or nothing has started.
func (s *compactMemory) findUnpublishedStart() *unpublishedStart {
	if s == nil || s.restart == nil {
		return nil
	}
	return s.restart.unpublished
}

// pendingPostStartID returns the container ID of the attempt whose postStart hook has begun and has not
// succeeded. It returns "" if there is no such attempt.
func (s *compactMemory) pendingPostStartID() string {
	if s == nil || s.restart == nil {
		return ""
	}
	return s.restart.postStart
}

// memoryTree stores the memory of each container by name. It is a search tree (a treap) whose nodes
// never change: a changed copy shares all nodes except one path with the original. The priority of
// a node is higher than the priorities of its children. It is a hash of the name, so the tree stays
// flat.
type memoryTree struct {
	name        string
	memory      *compactMemory
	priority    uint32
	left, right *memoryTree
}

// findMemory returns the memory of the container with a name. It returns the zero memory if the tree has no such
// container.
func (t *memoryTree) findMemory(name string) containerMemory {
	if s := t.findCompact(name); s != nil {
		return s.toContainerMemory()
	}
	return containerMemory{}
}

// findCompact returns the compact memory of the container with a name, or nil if the tree does not have it. The
// caller must not change the result.
func (t *memoryTree) findCompact(name string) *compactMemory {
	for t != nil {
		switch order := strings.Compare(name, t.name); {
		case order == 0:
			return t.memory
		case order < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil
}

// withContainer returns a copy of the tree in which the container with a name has the memory p. It adds the
// container if the tree does not have it. The original tree does not change.
func (t *memoryTree) withContainer(name string, p *compactMemory) *memoryTree {
	if t == nil {
		return &memoryTree{name: name, memory: p, priority: treePriority(name)}
	}
	n := *t
	switch order := strings.Compare(name, t.name); {
	case order == 0:
		n.memory = p
	case order < 0:
		n.left = t.left.withContainer(name, p)
		if up := n.left; up.priority > n.priority {
			n.left, up.right = up.right, &n
			return up
		}
	default:
		n.right = t.right.withContainer(name, p)
		if up := n.right; up.priority > n.priority {
			n.right, up.left = up.left, &n
			return up
		}
	}
	return &n
}

// forEach calls yield with each container in the order of names. It stops and returns false as soon as yield
// returns false. It returns true if yield never returned false, also for an empty tree.
func (t *memoryTree) forEach(yield func(string, *compactMemory) bool) (completed bool) {
	return t == nil || t.left.forEach(yield) && yield(t.name, t.memory) && t.right.forEach(yield)
}

// iterateInOrderOfNames returns an iterator over the container names and their compact memories, in the order
// of names.
func (t *memoryTree) iterateInOrderOfNames() iter.Seq2[string, *compactMemory] {
	return func(yield func(string, *compactMemory) bool) { t.forEach(yield) }
}

// isStoppedForNextAttempt reports whether a container ID is the attempt that the executor stopped in order to
// start the next one. The ID may be a runtime ID, or an ID with a scheme, as in "containerd://id".
func (t *memoryTree) isStoppedForNextAttempt(name, id string) bool {
	replaced := t.findCompact(name).replacedID()
	return replaced != "" && (id == replaced || strings.HasSuffix(id, "://"+replaced))
}

// restartExitCode returns the exit code that decides about a restart. It returns exitUnknown (137) if the
// executor stopped the container for its next attempt, and code for any other container.
func (t *memoryTree) restartExitCode(name, id string, code int32) int32 {
	if t.isStoppedForNextAttempt(name, id) {
		return exitUnknown
	}
	return code
}

// hasNoneReplaced reports whether the tree has no container that the executor stopped for its next attempt.
func (t *memoryTree) hasNoneReplaced() bool {
	return t.forEach(func(_ string, p *compactMemory) bool { return p.replacedID() == "" })
}

// treePriority returns the FNV-1a hash of a name, with its bits mixed. Without the mixing, names that differ
// only in the last characters would have similar priorities.
func treePriority(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
