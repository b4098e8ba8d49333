package manifest

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// about names what has a problem; it has one at a time.
type about struct{ kind, of string }

// What concerns a directory or a server as a whole.
var (
	aboutListing = about{kind: "listing"}
	aboutWatch   = about{kind: "watch"}
	aboutFetch   = about{kind: "fetch"}
	aboutKeep    = about{kind: "keep"}
	aboutSweep   = about{kind: "sweep"}
)

// aboutFile is a file with a bad version, aboutKept one that cannot be kept, aboutIgnored one with fields
// that are ignored, aboutName one whose name is ignored, and aboutPod a pod of one that another file has.
func aboutFile(path string) about       { return about{"file", path} }
func aboutKept(path string) about       { return about{aboutKeep.kind, path} }
func aboutIgnored(path string) about    { return about{"ignored", path} }
func aboutName(path string) about       { return about{"name", path} }
func aboutPod(path, which string) about { return about{"pod", path + "\x00" + which} }

// standing are the faults that stand now. Its owner adds and ends them in one goroutine;
// anybody may ask.
type standing struct {
	report   func(Problem)
	resolved func(source.Fault)
	log      *slog.Logger
	now      func() time.Time

	warned map[string]bool // texts of warnings that were reported; its owner's alone

	mu    sync.Mutex
	all   map[about]*stands
	paths map[types.UID]string // of the files that have pods
}

// stands is one of them, with the pods that it concerns.
type stands struct {
	fault source.Fault
	text  string // of the whole problem
	pods  []*v1.Pod
}

func newStanding(report func(Problem), resolved func(source.Fault), log *slog.Logger, now func() time.Time) *standing {
	return &standing{report: report, resolved: resolved, log: log, now: now, warned: map[string]bool{}, all: map[about]*stands{}}
}

// setPaths stores which file each pod comes from.
func (s *standing) setPaths(paths map[types.UID]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = paths
}

// pathOf returns the file that a pod comes from.
func (s *standing) pathOf(uid types.UID) (path string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, found = s.paths[uid]
	return path, found
}

// tell reports a problem: to the log, and to Config.Report.
func (s *standing) tell(p Problem) {
	s.log.Warn("Trouble with a manifest", p.attributes()...)
	s.report(p)
}

// put makes a problem stand. It began when the last one about the same did.
func (s *standing) put(what about, p Problem, pods []*v1.Pod) (news bool) {
	fault := source.Fault{Path: p.Path, Reason: p.Reason(), Effect: p.Effect(), Since: s.now()}
	text := p.Err.Error()
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.all[what]; was != nil {
		fault.Since = was.fault.Since
		news = was.text != text
	} else {
		news = true
	}
	s.all[what] = &stands{fault, text, pods}
	return news
}

// tellOnce makes a problem stand, and tells of it unless the last one about the same was the
// same.
func (s *standing) tellOnce(what about, p Problem, pods []*v1.Pod) {
	if s.put(what, p, pods) {
		s.tell(p)
	}
}

// see takes in how a file is, and what people should be told of it.
func (s *standing) see(f *file, p *Problem) {
	what := aboutFile(f.path)
	switch {
	case f.state == fine:
		s.end(what)
	case p != nil:
		s.put(what, *p, f.pods)
	}
	if p != nil {
		s.tell(*p)
	}
	s.warnAboutPriorities(cmp.Or(f.shown, f.path), f.pods)
	ignored := aboutIgnored(f.path)
	if len(f.ignored) == 0 {
		s.end(ignored)
		return
	}
	s.tellOnce(ignored, Problem{Path: cmp.Or(f.shown, f.path), Line: f.ignored[0].Line, Pod: f.ignored[0].Pod, Err: f.ignored}, f.pods)
}

// end tells people that what stood is over, if it did.
func (s *standing) end(what about) {
	s.mu.Lock()
	was := s.all[what]
	delete(s.all, what)
	s.mu.Unlock()
	if was != nil {
		s.log.Info("Trouble with a manifest is over", "path", was.fault.Path, "was", was.fault.Reason)
		s.resolved(was.fault)
	}
}

// endOthers ends all of a kind but some.
func (s *standing) endOthers(kind string, but map[about]bool) {
	for _, what := range s.kind(kind) {
		if !but[what] {
			s.end(what)
		}
	}
}

// kind is what stands of a kind, in order.
func (s *standing) kind(kind string) (all []about) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what := range s.all {
		if what.kind == kind {
			all = append(all, what)
		}
	}
	slices.SortStableFunc(all, func(a, b about) int { return cmp.Compare(a.of, b.of) })
	return all
}

// faults are those of all files, in order of path, not all if they are many.
func (s *standing) faults() source.Faults {
	var first []source.Fault
	s.mu.Lock()
	for _, one := range s.all {
		first = append(first, one.fault)
	}
	s.mu.Unlock()
	slices.SortStableFunc(first, func(a, b source.Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	return source.Faults{Count: len(first), First: slices.Clip(first[:min(len(first), source.MaxFaults)])}
}

// of is the fault that concerns a pod; of several the first by kind.
func (s *standing) of(uid types.UID) (fault source.Fault, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best about
	for what, one := range s.all {
		if slices.ContainsFunc(one.pods, func(pod *v1.Pod) bool { return pod.UID == uid }) &&
			(!found || cmp.Or(cmp.Compare(what.kind, best.kind), cmp.Compare(what.of, best.of)) < 0) {
			fault, found, best = one.fault, true, what
		}
	}
	return fault, found
}
