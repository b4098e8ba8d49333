package localapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

// The API finds these methods by a type assertion, so a method with another name would not be called.
var (
	_ localapi.ReadErrorReporter = (*checkpoint.Pods)(nil)
	_ localapi.Completer         = (*node.Node)(nil)
)

// keeping is a Saved in memory.
type keeping map[types.UID]*v1.Pod

func (s keeping) Load() (all []*v1.Pod) {
	for _, pod := range s {
		all = append(all, pod.DeepCopy())
	}
	return all
}
func (s keeping) Save(pod *v1.Pod) error   { s[pod.UID] = pod.DeepCopy(); return nil }
func (s keeping) Drop(uid types.UID) error { delete(s, uid); return nil }

// readOnly is a Saved on a disk that has become read only.
type readOnly struct{ keeping }

func (readOnly) Save(*v1.Pod) error   { return errors.New("read-only file system") }
func (readOnly) Drop(types.UID) error { return errors.New("read-only file system") }

// box is a machine on which one agent runs after the other.
type box struct {
	*testing.T
	machine *memory.Runtime
	kept    keeping
	frozen  bool   // the disk is read only
	name    string // of the node; empty: n1
	maxPods int    // of the node; 0: the default
	ended   string // the directory of the terminal statuses; empty: they are not kept
	node    *node.Node
	client  *http.Client
	stop    func()
}

// restartAgent ends the agent, if one runs, and starts the next, in a bubble. The containers go on.
func (b *box) restartAgent(files *source.Handle) {
	b.Helper()
	if b.stop != nil {
		b.stop()
	}
	name := cmp.Or(b.name, "n1")
	events, err := localapi.NewEvents(name, nil)
	require.NoError(b, err)
	config := node.Config{Name: name, Runtime: b.machine, Pods: node.PodsConfig{AwaitHost: true, Sources: map[string]source.Source{"file": files}}, Recorder: events, Scheduling: node.SchedulingConfig{MaxPods: b.maxPods}}
	if b.ended != "" {
		config.Pods.TerminalStatuses, err = checkpoint.New(checkpoint.Config{Root: b.ended})
		require.NoError(b, err)
	}
	b.node, err = node.New(config)
	require.NoError(b, err)
	var saved localapi.Saved = b.kept
	if b.frozen {
		saved = readOnly{b.kept}
	}
	api, err := localapi.New(localapi.Config{Node: b.node, NodeName: name, Finder: b.node.Containers(), Writer: b.node, Saved: saved, Events: events, Stats: b.node.Containers(), Authenticator: localapi.Token("")})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { _ = b.node.Run(ctx) }()
	go func() { ended <- api.Run(ctx) }()
	b.client, b.stop = &http.Client{Transport: api.RoundTripper()}, func() { cancel(); <-ended; <-b.node.Done() }
	select {
	case <-api.Ready():
	case <-time.After(5 * time.Second):
		require.Fail(b, "the API is not ready")
	}
}

// describeAnswer returns the status code of a response, and the names, phases and images of its pods.
func (b *box) describeAnswer(method, path, body string) (answer string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://n1"+path, strings.NewReader(body))
	require.NoError(b, err)
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	}
	resp, err := b.client.Do(req)
	require.NoError(b, err)
	defer func() { _ = resp.Body.Close() }()
	var list struct {
		v1.Pod
		Items []v1.Pod
	}
	require.NoError(b, json.NewDecoder(resp.Body).Decode(&list))
	answer = fmt.Sprint(resp.StatusCode)
	for _, pod := range append(list.Items, list.Pod) {
		if len(pod.Spec.Containers) > 0 {
			answer += fmt.Sprint(" ", pod.Name, " ", pod.Status.Phase, " ", pod.Spec.Containers[0].Image)
		}
	}
	return answer
}

func inBox(t *testing.T, test func(b *box)) {
	synctest.Test(t, func(t *testing.T) {
		b := &box{T: t, machine: memory.New(memory.Config{}), kept: keeping{}}
		defer func() { b.stop() }()
		test(b)
	})
}

// fileOf is a source with one pod.
func fileOf(t *testing.T, name, image string) *source.Handle {
	h := source.NewHandle()
	p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: image}}}}
	p.Name, p.UID = name, types.UID("static-"+name)
	require.NoError(t, h.Apply(p))
	return h
}

const web = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","annotations":{"memory.podkeel.dev/c":"run=forever ignore-term"}},"spec":{"containers":[{"name":"c","image":"created:1"}]}}`

// TestRestart_Orphan, in a bubble: a pod without a source stays while a source is incomplete. Clients can still
// use the other pods.
func TestRestart_Orphan(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(fileOf(t, "old", "old:1"))
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		b.restartAgent(source.NewHandleWith(source.HandleConfig{Incomplete: true}))
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods, ""))
		time.Sleep(time.Hour)
		assert.Len(t, b.machine.Snapshot(), 2)
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods, ""))
	})
}

// TestRestart_Namesake, in a bubble: a created pod keeps its name from a static one over a restart, as the API
// shows it. Until the node has shown it there is no answer, as its status is not known.
func TestRestart_Namesake(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		b.restartAgent(fileOf(t, "web", "static:1"))
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods+"/web", ""))
		time.Sleep(time.Minute)
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods+"/web", ""))
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("DELETE", pods+"/web?gracePeriodSeconds=5", ""))
		time.Sleep(10 * time.Second)
		assert.NotContains(t, b.describeAnswer("GET", pods+"/web", ""), "created:1")
	})
}

// TestRestart_Deleted, in a bubble: a deletion that was accepted goes on after a restart, within the grace.
func TestRestart_Deleted(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		require.Equal(t, "200 web Running created:1", b.describeAnswer("DELETE", pods+"/web?gracePeriodSeconds=20", ""))
		b.restartAgent(source.NewHandle())
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods, ""))
		time.Sleep(22 * time.Second)
		assert.Equal(t, "200", b.describeAnswer("GET", pods, ""))
		assert.Empty(t, b.kept)
	})
}

// TestRestart_ReadOnlyDisk, in a bubble: a deleted pod ends and is gone, although its file cannot be removed. A
// later process that finds the file ends the pod again, and does not run it.
func TestRestart_ReadOnlyDisk(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		require.Equal(t, "200 web Running created:1", b.describeAnswer("DELETE", pods+"/web?gracePeriodSeconds=20", ""))
		b.frozen = true
		b.restartAgent(source.NewHandle())
		time.Sleep(25 * time.Second)
		assert.Equal(t, "200", b.describeAnswer("GET", pods, ""))
		assert.Empty(t, b.machine.Snapshot())
		assert.Len(t, b.kept, 1)
		b.frozen = false
		b.restartAgent(source.NewHandle())
		time.Sleep(25 * time.Second)
		assert.Equal(t, "200", b.describeAnswer("GET", pods, ""))
		assert.Empty(t, b.machine.Snapshot())
		assert.Empty(t, b.kept)
	})
}

// TestRestart_DeletedAndGone, in a bubble: a deleted pod without containers disappears soon.
func TestRestart_DeletedAndGone(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		require.Equal(t, "200 web Running created:1", b.describeAnswer("DELETE", pods+"/web?gracePeriodSeconds=20", ""))
		b.machine = memory.New(memory.Config{}) // As after a boot.
		b.restartAgent(source.NewHandle())
		time.Sleep(3 * time.Second)
		assert.Equal(t, "200", b.describeAnswer("GET", pods, ""))
		assert.Empty(t, b.kept)
		assert.Empty(t, b.machine.Snapshot())
	})
}

// TestRun_Ended, in a bubble: watches end with Run, and nothing is answered after it.
func TestRun_Ended(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		watch, err := b.client.Get("http://n1/api/v1/pods?watch=true")
		require.NoError(t, err)
		b.stop()
		b.stop = func() {}
		_, err = watch.Body.Read(make([]byte, 1))
		assert.EqualError(t, err, "EOF")
		for _, path := range []string{pods, "/apis/metrics.k8s.io/v1beta1/pods"} {
			resp, err := b.client.Get("http://n1" + path)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, path)
		}
	})
}

// TestEvents_Lifetime, in a bubble: events are gone after an hour, also if there are no others since.
func TestEvents_Lifetime(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		events := func() int {
			resp, err := b.client.Get("http://n1/api/v1/events")
			require.NoError(t, err)
			defer func() { _ = resp.Body.Close() }()
			var list v1.EventList
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
			return len(list.Items)
		}
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(59 * time.Minute)
		assert.NotZero(t, events())
		time.Sleep(2 * time.Minute)
		assert.Zero(t, events())
	})
}

// TestRestart_HostName, in a bubble: a created pod belongs to the node that has saved it, whatever the
// name of the host is now. Its container goes on, and clients see and change it as before.
func TestRestart_HostName(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(fileOf(t, "other", "other:1"))
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		before := b.machine.Snapshot()
		for _, name := range []string{"renamed.example", "n1"} {
			b.name = name
			b.restartAgent(fileOf(t, "other", "other:1"))
			time.Sleep(time.Minute)
			assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods+"/web", ""), name)
			assert.Equal(t, before, b.machine.Snapshot(), "no container was started or stopped")
			state, ok := b.node.PodByName("default", "web")
			require.True(t, ok)
			assert.Equal(t, name, state.Spec.NodeName)
			assert.Equal(t, "200 web Running created:1", b.describeAnswer("PATCH", pods+"/web", `{"metadata":{"labels":{"at":"`+name+`"}}}`), name)
		}
	})
}

// TestRestart_RejectedStaysRejected, in a bubble: a created pod that was rejected stays Failed with its
// reason when a later agent has room for it, also after a change of its image, until it is deleted.
func TestRestart_RejectedStaysRejected(t *testing.T) {
	inBox(t, func(b *box) {
		const second = pods + "/second"
		b.maxPods, b.ended = 1, b.TempDir()
		b.restartAgent(fileOf(t, "static", "static:1"))
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		require.Regexp(t, "^201 second ", b.describeAnswer("POST", pods, strings.ReplaceAll(web, "web", "second")))
		time.Sleep(5 * time.Second)
		want := map[string]string{
			"static": "Running : ",
			"web":    "Failed OutOfpods: Pod was rejected: the node runs 1 pods and takes at most 1",
			"second": "Failed OutOfpods: Pod was rejected: the node runs 1 pods and takes at most 1",
		}
		require.Equal(t, want, b.describePhases())
		require.Equal(t, "200 second Failed created:2", b.describeAnswer("PATCH", second, `{"spec":{"containers":[{"name":"c","image":"created:2"}]}}`))
		b.maxPods = 0
		for range 2 {
			b.restartAgent(fileOf(t, "static", "static:1"))
			time.Sleep(time.Minute)
			assert.Equal(t, want, b.describePhases())
			assert.Len(t, b.machine.Snapshot(), 1)
		}
		assert.Equal(t, "200 second Failed created:2", b.describeAnswer("DELETE", second, ""))
		time.Sleep(5 * time.Second)
		assert.NotContains(t, b.describePhases(), "second")
		require.Regexp(t, "^201 second ", b.describeAnswer("POST", pods, strings.ReplaceAll(web, "web", "second")))
		time.Sleep(5 * time.Second)
		assert.Equal(t, "200 second Running created:1", b.describeAnswer("GET", second, ""))
	})
}

// TestRestart_StaticIsAskedAgain, in a bubble: a static pod that was rejected runs when a later agent has room
// for it.
func TestRestart_StaticIsAskedAgain(t *testing.T) {
	inBox(t, func(b *box) {
		b.maxPods, b.ended = 1, b.TempDir()
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		time.Sleep(5 * time.Second)
		b.restartAgent(fileOf(t, "static", "static:1"))
		time.Sleep(5 * time.Second)
		require.Contains(t, b.describePhases()["static"], "Failed OutOfpods")
		b.maxPods = 0
		b.restartAgent(fileOf(t, "static", "static:1"))
		time.Sleep(5 * time.Second)
		assert.Equal(t, map[string]string{"static": "Running : ", "web": "Running : "}, b.describePhases())
	})
}

// describePhases returns the phase, the reason and the message of each pod.
func (b *box) describePhases() map[string]string {
	b.Helper()
	resp, err := b.client.Get("http://n1" + pods)
	require.NoError(b, err)
	defer func() { _ = resp.Body.Close() }()
	var list v1.PodList
	require.NoError(b, json.NewDecoder(resp.Body).Decode(&list))
	all := map[string]string{}
	for _, pod := range list.Items {
		all[pod.Name] = fmt.Sprintf("%s %s: %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
	return all
}
