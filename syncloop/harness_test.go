package syncloop_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// harness has the dependencies of Handlers. Each of them records its calls.
type harness struct {
	notes    []string
	manager  *manager
	workers  *workers
	status   *statuses
	sources  *sources
	running  []runtime.Pod
	chain    []syncloop.PodAdmitHandler
	handlers *syncloop.Handlers
	unlisted bool // the runtime has never been seen
	guarded  bool // pods of the source "api" are an API server's
	broken   map[string]int
	// evictions are the evictions of waiting pods that are not complete.
	evictions map[types.UID]*podworkers.Completion
}

// evictWaiting evicts a waiting pod.
func (w *harness) evictWaiting(uid types.UID) {
	ended := podworkers.NewCompletion(nil)
	w.evictions[uid] = ended
	is := w.handlers.EvictWaiting(uid, syncloop.WaitingEviction{
		Reason: "Evicted", Message: "by the host", Condition: v1.PodCondition{Type: v1.DisruptionTarget}, Completion: ended,
	})
	if !is {
		delete(w.evictions, uid)
		w.addLine("%s does not wait", uid)
	}
}

// recordEvictions records which evictions are complete.
func (w *harness) recordEvictions() {
	for _, uid := range slices.Sorted(maps.Keys(w.evictions)) {
		select {
		case <-w.evictions[uid].Done():
			w.addLine("the eviction of %s is over, error: %v", uid, w.evictions[uid].Err())
			delete(w.evictions, uid)
		default:
		}
	}
}

func newHarness() *harness { return newConfiguredHarness(func(*syncloop.HandlersConfig) {}) }

// newConfiguredHarness returns a harness whose Handlers have a changed config.
func newConfiguredHarness(change func(config *syncloop.HandlersConfig)) *harness {
	w := &harness{broken: map[string]int{}, evictions: map[types.UID]*podworkers.Completion{}}
	w.manager = &manager{Store: podmanager.New(), harness: w}
	w.workers = &workers{harness: w, table: lifecycle.New(), deaf: map[types.UID]bool{}, kills: map[types.UID]*podworkers.Completion{}}
	w.status = &statuses{harness: w, byUID: map[types.UID]v1.PodStatus{}}
	w.sources = &sources{names: []string{"api", "file"}, incomplete: map[string]bool{}, unseen: map[string]bool{}}
	ask := syncloop.PodAdmitFunc(w.admitPod)
	config := syncloop.HandlersConfig{
		Manager: w.manager, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources,
		Admit: []syncloop.PodAdmitHandler{ask}, OrphanGrace: -1, Discard: w.discard, FromAPIServer: func(pod *v1.Pod) bool { return w.guarded && !podmanager.IsStaticPod(pod) }, TerminalStatus: w.ended, Recorder: w, Log: w.newLogger(),
		DropTerminalStatus: func(uid types.UID) { w.addLine("drop how a former %s ended", uid) },
		SaveTerminalStatus: func(pod *v1.Pod, status v1.PodStatus) {
			w.addLine("keep %s for the next agent: %s %s", pod.UID, status.Phase, status.Reason)
		},
	}
	change(&config)
	var err error
	w.handlers, err = syncloop.NewHandlers(config)
	if err != nil {
		panic(err)
	}
	return w
}

// ended has no terminal status for any pod.
func (w *harness) ended(pod *v1.Pod) (v1.PodStatus, bool) {
	w.panicIfBroken("ended", pod)
	return v1.PodStatus{}, false
}

// panicIfBroken panics if the story makes this call panic.
func (w *harness) panicIfBroken(who string, pod *v1.Pod) {
	key := who + " " + string(pod.UID)
	if w.broken[key]--; w.broken[key] >= 0 {
		panic("oh")
	}
}

// Healthy implements the handlers' view of the PLEG.
func (w *harness) Healthy() (bool, error) { return !w.unlisted, nil }

func (w *harness) addLine(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// newLogger returns a logger that records errors.
func (w *harness) newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelError,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == "stack" {
				return slog.Attr{}
			}
			text, _, _ := strings.Cut(a.Value.String(), "\n") // The rest is a stack.
			return slog.String(a.Key, text)
		},
	}))
}

// Write implements io.Writer for the log.
func (w *harness) Write(line []byte) (int, error) {
	w.addLine("log: %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// takeCalls returns the calls since the last takeCalls.
func (w *harness) takeCalls() []string {
	notes := w.notes
	w.notes = nil
	return notes
}

// admitPod records a call of the admission handler and calls it.
func (w *harness) admitPod(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
	w.addLine("Admit %s, beside %s", attrs.Pod.UID, joinUIDs(attrs.OtherPods))
	w.panicIfBroken("admit", attrs.Pod)
	for _, h := range w.chain {
		if r := h.Admit(attrs); !r.Admit {
			return r
		}
	}
	return syncloop.PodAdmitResult{Admit: true}
}

func (w *harness) Pods() []runtime.Pod                                      { return w.running }
func (w *harness) discard(gone []types.UID)                                 { w.addLine("Discard %v", gone) }
func (w *harness) Eventf(k8sruntime.Object, string, string, string, ...any) {}
func (w *harness) Event(o k8sruntime.Object, kind, reason, message string) {
	w.addLine("Event %s %s %s: %s", o.(*v1.Pod).UID, kind, reason, message)
}

type manager struct {
	*podmanager.Store
	*harness
}

func (m *manager) AddPod(pod *v1.Pod) { m.addLine("AddPod %s", pod.UID); m.Store.AddPod(pod) }
func (m *manager) UpdatePod(pod *v1.Pod) {
	m.panicIfBroken("store", pod)
	m.addLine("UpdatePod %s", pod.UID)
	m.Store.UpdatePod(pod)
}
func (m *manager) RemovePod(pod *v1.Pod) { m.addLine("RemovePod %s", pod.UID); m.Store.RemovePod(pod) }

func (m *manager) GetPodsAndMirrorPods() (pods, mirrors []*v1.Pod, orphans []string) {
	m.addLine("GetPodsAndMirrorPods")
	return m.Store.GetPodsAndMirrorPods()
}

// workers are a lifecycle table without goroutines. Its answers are real. A command of the story performs the
// next call of a worker.
type workers struct {
	*harness
	table *lifecycle.Table
	out   lifecycle.Effects
	down  bool
	deaf  map[types.UID]bool // to the next update of these
	kills map[types.UID]*podworkers.Completion
}

func (w *workers) UpdatePod(o podworkers.UpdatePodOptions) error {
	if w.down {
		return podworkers.ErrStopped
	}
	if o.Pod != nil && w.deaf[o.Pod.UID] {
		delete(w.deaf, o.Pod.UID)
		return podworkers.ErrInvalid
	}
	u := lifecycle.Update{Type: o.UpdateType, Runtime: lifecycle.RuntimeStopped}
	if o.Pod == nil {
		w.addLine("worker of %s: %s what runs, grace %d, as of %d", o.RunningPod.UID, o.UpdateType,
			*o.KillPodOptions.PodTerminationGracePeriodSecondsOverride, o.Generation)
		u.UID, u.Subject, u.AsOf = o.RunningPod.UID, lifecycle.RuntimePod, o.Generation
	} else {
		mirror := ""
		if o.MirrorPod != nil {
			mirror = ", mirror " + string(o.MirrorPod.UID)
		}
		w.addLine("worker of %s: %s%s", o.Pod.UID, o.UpdateType, mirror)
		u.UID, u.Subject, u.Facts = o.Pod.UID, lifecycle.ConfigPod, lifecycle.Facts{
			FullName:      podmanager.FullName(o.Pod),
			Source:        o.Pod.Annotations[podmanager.ConfigSourceAnnotation],
			Static:        podmanager.IsStaticPod(o.Pod),
			Deleted:       o.Pod.DeletionTimestamp != nil,
			TerminalPhase: o.Pod.Status.Phase == v1.PodFailed || o.Pod.Status.Phase == v1.PodSucceeded,
			SpecGrace:     lifecycle.GraceFromAPI(o.Pod.Spec.TerminationGracePeriodSeconds),
		}
		if o.KillPodOptions != nil {
			u.Kill.Grace = lifecycle.GraceFromAPI(o.KillPodOptions.PodTerminationGracePeriodSecondsOverride)
		}
	}
	_, err := w.table.Update(u, &w.out)
	return err
}

func (w *workers) Kill(o podworkers.UpdatePodOptions) *podworkers.Completion {
	o.UpdateType = podworkers.SyncPodKill
	kill := podworkers.NewCompletion(nil)
	if err := w.UpdatePod(o); err != nil {
		kill.Resolve(err)
	}
	w.kills[o.Pod.UID] = kill
	return kill
}

func (w *workers) SyncKnownPods(known podworkers.KnownPods) map[types.UID]podworkers.PodWorkerSync {
	var excluded []string
	for _, source := range w.table.Sources() {
		if !known.Authoritative(source) {
			excluded = append(excluded, source)
		}
	}
	snapshot := lifecycle.DesiredSnapshot{Generation: known.Generation, ExcludedSources: excluded, Removed: known.Removed, AllSources: known.AllSources}
	for _, pod := range known.Desired {
		snapshot.Desired = append(snapshot.Desired, pod.UID)
	}
	text := "" // Where nothing is excluded it makes no difference.
	if len(excluded) > 0 && len(known.Removed) > 0 {
		text = fmt.Sprintf(", removed %v", known.Removed)
	}
	w.addLine("SyncKnownPods %s as of %d, all sources %t, excluding %v%s", joinUIDs(known.Desired), known.Generation, known.AllSources, excluded, text)
	result := map[types.UID]podworkers.PodWorkerSync{}
	for _, s := range w.table.SyncKnown(snapshot, nil, &w.out) {
		result[s.UID] = podworkers.PodWorkerSync{State: s.Phase, Orphan: s.Orphan, HasConfig: s.HasConfig, Static: s.Static}
	}
	return result
}

func (w *workers) Generation() uint64 {
	w.addLine("Generation is %d", w.table.Generation())
	return w.table.Generation()
}

func (w *workers) View(uid types.UID) lifecycle.View { return w.table.View(uid) }
func (w *workers) IsPodForMirrorPodTerminatingByFullName(fullName string) bool {
	return w.table.Owner(fullName).IsPodForMirrorPodTerminating()
}

// performWork performs one call of a pod's worker and returns its name.
func (w *workers) performWork(uid types.UID, result lifecycle.Result) string {
	ref, ok := w.table.Find(uid)
	if !ok {
		return "unknown"
	}
	work, ok := w.table.StartPodSync(ref)
	if !ok {
		return "idle"
	}
	w.table.Done(work.Ref, work.Incarnation, result, &w.out)
	w.handlers.NotifyWorkerChange(uid)
	if kill := w.kills[uid]; kill != nil && w.table.View(uid).IsPodKnownTerminated() {
		kill.Resolve(nil)
	}
	return work.Kind.String()
}

type statuses struct {
	*harness
	byUID map[types.UID]v1.PodStatus
}

func (s *statuses) recordStatus(verb string, pod *v1.Pod, status v1.PodStatus) {
	of := ""
	if status.ObservedGeneration > 0 {
		of = fmt.Sprintf(", of generation %d", status.ObservedGeneration)
	}
	s.addLine("%s %s: %s %s %q %s, %d conditions, %d containers%s", verb, pod.UID, status.Phase, status.Reason,
		status.Message, status.QOSClass, len(status.Conditions), len(status.ContainerStatuses), of)
	s.byUID[pod.UID] = status
}

func (s *statuses) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	s.recordStatus("SetPodStatus", pod, status)
}
func (s *statuses) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) {
	s.recordStatus("ReplacePodStatus", pod, status)
}

func (s *statuses) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	status, ok := s.byUID[uid]
	return status, ok
}

func (s *statuses) PodIsFinished(types.UID) bool { return false }

func (s *statuses) RemoveOrphanedStatuses(keep map[types.UID]bool) {
	s.addLine("RemoveOrphanedStatuses but %v", slices.Sorted(maps.Keys(keep)))
	maps.DeleteFunc(s.byUID, func(uid types.UID, _ v1.PodStatus) bool { return !keep[uid] })
}

type sources struct {
	names              []string
	incomplete, unseen map[string]bool
}

func (s *sources) Names() []string { return slices.Clone(s.names) }
func (s *sources) AllSeen() bool   { return len(s.unseen) == 0 }
func (s *sources) Complete(name string) bool {
	return slices.Contains(s.names, name) && !s.unseen[name] && !s.incomplete[name]
}

func joinUIDs(pods []*v1.Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = string(pod.UID)
	}
	return "[" + strings.Join(names, " ") + "]"
}
