package syncloop_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// TestStories runs testdata. Each block is a story of Handlers in a new harness, one command per line. Below
// each command stand the calls that the handlers made, and their decisions about waiting pods, as in each step
// of the loop. See command for the commands.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.HasSuffix(path, "graces.txt") {
			return // TestGraces runs it.
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := newHarness()
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				words := strings.Fields(line)
				fmt.Fprintln(&b, strings.Join(words, " "))
				told := w.runCommand(t, words)
				w.handlers.HandleWaiting(t.Context())
				w.recordEvictions()
				for _, note := range append(told, w.takeCalls()...) {
					fmt.Fprintln(&b, "  "+note)
				}
			}
			return b.String()
		})
	})
}

// runCommand does one line of a story:
//
//	add|update|remove|reconcile POD [| POD]...   desire changes; see parsePod
//	sync POD [| POD]...                          these should be looked at
//	cleanup [evict=UID]                          housekeeping, just before which a pod that waits is evicted
//	evict UID                                    a pod that waits is evicted
//	end                                          the loop has ended
//	work UID [completed|failed]                  the worker does a piece of work
//	deaf UID                                     the worker refuses the next update
//	stop                                         the workers have stopped
//	runtime [UID=running|exited|unknown|ready[@SOURCE][~NAME]]...   what the runtime shows
//	unlisted                                     the runtime has not been seen yet
//	source NAME unseen|incomplete|complete       how a source is
//	status UID PHASE                             a sync has stored a status
//	max N                                        admission: so many pods
//	panic admit|ended UID [N]                    admission, or the check for the end of the pod, panics N times
func (w *harness) runCommand(t *testing.T, words []string) []string {
	t.Helper()
	ctx := context.Background()
	switch verb, args := words[0], words[1:]; verb {
	case "add":
		w.handlers.HandlePodAdditions(ctx, parsePods(t, args))
	case "update":
		w.handlers.HandlePodUpdates(ctx, parsePods(t, args))
	case "remove":
		w.handlers.HandlePodRemoves(ctx, parsePods(t, args))
	case "reconcile":
		w.handlers.HandlePodReconcile(ctx, parsePods(t, args))
	case "sync":
		w.handlers.HandlePodSyncs(ctx, parsePods(t, args))
	case "cleanup":
		for _, arg := range args {
			w.evictWaiting(types.UID(strings.TrimPrefix(arg, "evict=")))
		}
		if err := w.handlers.HandlePodCleanups(ctx); err != nil {
			t.Fatal(err)
		}
	case "evict":
		w.evictWaiting(types.UID(args[0]))
	case "end":
		w.handlers.StopWaiting()
	case "work":
		result := lifecycle.Succeeded
		if len(args) > 1 {
			result = map[string]lifecycle.Result{"completed": lifecycle.Completed, "failed": lifecycle.Failed}[args[1]]
		}
		return []string{w.workers.performWork(types.UID(args[0]), result)}
	case "deaf":
		w.workers.deaf[types.UID(args[0])] = true
	case "stop":
		w.workers.down = true
	case "unlisted":
		w.unlisted = true
	case "runtime":
		w.running, w.unlisted = nil, false
		for _, arg := range args {
			w.running = append(w.running, parseRunning(t, arg))
		}
	case "source":
		delete(w.sources.unseen, args[0])
		delete(w.sources.incomplete, args[0])
		switch args[1] {
		case "unseen":
			w.sources.unseen[args[0]] = true
		case "incomplete":
			w.sources.incomplete[args[0]] = true
		}
	case "status":
		w.status.byUID[types.UID(args[0])] = v1.PodStatus{Phase: v1.PodPhase(args[1])}
	case "max":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			t.Fatal(err)
		}
		w.chain = append(w.chain, syncloop.AdmitPodCount(n))
	case "panic":
		times := 1000
		if len(args) > 2 {
			times, _ = strconv.Atoi(args[2])
		}
		w.broken[args[0]+" "+args[1]] = times
	default:
		t.Fatalf("unknown command %q", verb)
	}
	return nil
}

// parsePod parses a pod: its UID, which is also its name unless name= is given, then source= (api), created=
// and generation= (numbers), phase=, mirror, deleted, gated.
func parsePods(t *testing.T, words []string) (pods []*v1.Pod) {
	for len(words) > 0 {
		end := slices.Index(words, "|")
		if end < 0 {
			return append(pods, parsePod(t, words))
		}
		pods = append(pods, parsePod(t, words[:end]))
		words = words[end+1:]
	}
	return pods
}

// parsePod reads a pod: its UID, and its name too unless it says otherwise,
// then name=, source= (api), created= and generation= (numbers), phase=, policy=,
// mirror, deleted, gated.
func parsePod(t *testing.T, words []string) *v1.Pod {
	t.Helper()
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(words[0]), Name: words[0], Namespace: "ns",
		Annotations: map[string]string{podmanager.ConfigSourceAnnotation: "api"},
	}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "name":
			p.Name = value
		case "source":
			p.Annotations[podmanager.ConfigSourceAnnotation] = value
		case "created", "generation":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			if key == "created" {
				p.CreationTimestamp = metav1.Unix(int64(n), 0)
				break
			}
			p.Generation = int64(n)
		case "phase":
			p.Status.Phase = v1.PodPhase(value)
		case "qos":
			p.Status.QOSClass = v1.PodQOSClass(value)
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c"}}
		case "mirror":
			p.Annotations[podmanager.ConfigMirrorAnnotation] = "x"
		case "policy":
			p.Spec.RestartPolicy = v1.RestartPolicy(value)
		case "deleted":
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		case "gated":
			p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "g"}}
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return p
}

// parseRunning parses UID=STATE[@SOURCE][~NAME]; "ready" is a ready sandbox without containers.
func parseRunning(t *testing.T, word string) runtime.Pod {
	t.Helper()
	uid, rest, _ := strings.Cut(word, "=")
	rest, name, _ := strings.Cut(rest, "~")
	state, source, sourced := strings.Cut(rest, "@")
	p := runtime.Pod{UID: types.UID(uid), Name: cmp.Or(name, uid), Namespace: "ns"}
	sandbox := runtime.Sandbox{ID: "s", Ready: state == "ready"}
	if sourced {
		sandbox.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: source}
	}
	p.Sandboxes = []runtime.Sandbox{sandbox}
	states := map[string]runtime.State{"running": runtime.StateRunning, "exited": runtime.StateExited, "unknown": runtime.StateUnknown}
	if s, ok := states[state]; ok {
		p.Containers = []runtime.Container{{ID: "c", State: s}}
	} else if state != "ready" {
		t.Fatalf("unknown state %q", state)
	}
	return p
}
