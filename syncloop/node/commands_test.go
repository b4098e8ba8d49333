package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// shells run the commands of probes and hooks in the worst of ways.
type shells struct{ runtime.Runtime }

// page is the output of a command, far beyond the limit.
var page = bytes.Repeat([]byte("x\xff"), 32<<20)

// Features implements runtime.FeatureReporter.
func (s shells) Features() runtime.Features { return runtime.Features{Execer: s} }

// Exec implements runtime.Execer.
func (shells) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	switch req.Command[0] {
	case "print":
		return runtime.ExecResult{ExitCode: 1, Output: page}, nil
	case "hang": // The command has gone on in the background, and holds the output.
		<-ctx.Done()
		return runtime.ExecResult{}, ctx.Err()
	case "cling": // It is not even ended by who runs it.
		_ = executor.Over(nil).Sleep(context.Background(), 15*time.Minute)
		return runtime.ExecResult{}, errors.New("killed at last")
	case "panic":
		panic("the runtime has a bug")
	}
	return runtime.ExecResult{}, nil
}

func probeResult(name, command string) *v1.Pod {
	p := newPod(name, "serve")
	run := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{command}}}
	p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: run, PeriodSeconds: 1, TimeoutSeconds: 5}
	return p
}

// TestNode_I43_RunNamesTheStuckProbe: a command that is not ended by the runtime
// holds up Run for the drain timeout and no longer.
func TestNode_I43_RunNamesTheStuckProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volumes := inmemory.New(inmemory.Config{})
		r := runConfig(t, node.Config{Runtime: shells{memory.New(memory.Config{})}, Volumes: node.VolumesConfig{Manager: volumes, Files: volumes}, Sync: node.SyncConfig{DrainTimeout: 10 * time.Second}})
		require.NoError(t, r.Apply(probeResult("cling", "cling")))
		require.NoError(t, r.Apply(probeResult("hang", "hang")))
		time.Sleep(3 * time.Second)
		begun := time.Now()
		err := r.stopNode()
		require.ErrorIs(t, err, prober.ErrNotDrained)
		assert.EqualError(t, err, "prober: checks ignore that their context has ended: Readiness probe of container c of default/cling")
		assert.Equal(t, 10*time.Second, time.Since(begun))
		time.Sleep(time.Hour) // The goroutine of the check returns when its command exits.
	})
}

// TestNode_F96_Commands: pods whose probe commands misbehave are not ready, their events are short, and
// other pods are not affected.
func TestNode_F96_Commands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &warnings{}
		volumes := inmemory.New(inmemory.Config{})
		r := runConfig(t, node.Config{Runtime: shells{memory.New(memory.Config{})}, Volumes: node.VolumesConfig{Manager: volumes, Files: volumes}, Recorder: heard})
		for _, command := range []string{"well", "print", "hang", "cling", "panic"} {
			assert.NoError(t, r.Apply(probeResult(command, command)))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Equal(t, map[string]bool{"well": true, "print": false, "hang": false, "cling": false, "panic": false}, readyPods(r))
		for _, p := range r.Pods() {
			assert.Zero(t, p.Status.ContainerStatuses[0].RestartCount, p.Name)
		}
		told := heard.allWarnings()
		assert.Equal(t, "Unhealthy: Readiness probe of container c failed: no answer within 5s", told["hang"])
		assert.Equal(t, "Unhealthy: Readiness probe of container c could not be made: exec: Runtime.Exec panicked: the runtime has a bug", told["panic"])
		assert.LessOrEqual(t, len(told["print"]), 1100)
		assert.True(t, utf8.ValidString(told["print"]))
		for _, command := range []string{"print", "hang", "cling", "panic"} {
			r.Delete(types.UID(command))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, map[string]bool{"well": true}, readyPods(r), "they can be removed")
		time.Sleep(5 * time.Minute) // What clings is killed at last.
		assert.NoError(t, r.stopNode())
	})
}

// warnings are the newest one of each pod.
type warnings struct {
	mu   sync.Mutex
	told map[string]string
}

// Event implements the recorder of a node.
func (w *warnings) Event(object k8sruntime.Object, kind, reason, message string) {
	if o, ok := object.(*v1.ObjectReference); ok && kind == v1.EventTypeWarning {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.told == nil {
			w.told = make(map[string]string)
		}
		w.told[o.Name] = reason + ": " + message
	}
}

// Eventf implements the recorder of a node.
func (w *warnings) Eventf(object k8sruntime.Object, kind, reason, format string, args ...any) {
	w.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (w *warnings) allWarnings() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.told)
}

func readyPods(r *runningParts) map[string]bool {
	all := map[string]bool{}
	for _, p := range r.Pods() {
		all[p.Name] = p.Status.ContainerStatuses[0].Ready
	}
	return all
}

// learning is a runtime that runs commands once it has connected to one that does.
type learning struct {
	*memory.Runtime
	connected atomic.Bool
}

func (l *learning) Features() runtime.Features {
	f := l.Runtime.Features()
	f.HandlerRunner = nil
	if !l.connected.Load() {
		f.Execer = nil
	}
	return f
}

// TestNode_AsksForFeaturesAgain: an adapter may find a runtime that can do more, after an upgrade.
// Without Execer a pod with an exec probe is refused; with it the next one runs and is probed.
func TestNode_AsksForFeaturesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &learning{Runtime: memory.New(memory.Config{})}
		n := runConfig(t, node.Config{Runtime: rt})
		require.NoError(t, n.Apply(probeResult("early", "true")))
		time.Sleep(3 * time.Second)
		assert.Equal(t, "UnsupportedField", statusOf(n, "early").Reason)
		rt.connected.Store(true)
		require.NoError(t, n.Apply(probeResult("late", "true")))
		time.Sleep(3 * time.Second)
		late := statusOf(n, "late")
		require.Len(t, late.ContainerStatuses, 1)
		assert.True(t, late.ContainerStatuses[0].Ready, "%+v", late)
		require.NoError(t, n.stopNode())
	})
}
