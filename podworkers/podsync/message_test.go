package podsync_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// speaker is a runtime with one log for all containers.
type speaker struct {
	runtime.Runtime
	log   string
	err   error
	reads []runtime.ReadLogRequest
}

func (s *speaker) Features() runtime.Features { return runtime.Features{LogReader: s} }

func (s *speaker) ReadLog(_ context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	s.reads = append(s.reads, req)
	for chunk := range slices.Chunk([]byte(s.log), 1000) {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return s.err
}

// dying is a pod with one exited container, and its Syncer.
type dying struct {
	t      *testing.T
	rt     *speaker
	files  *inmemory.Volumes
	store  *store
	syncer *podsync.Syncer
	pod    *v1.Pod
	status *runtime.PodStatus
}

func newDying(t *testing.T) *dying {
	d := &dying{t: t, files: inmemory.New(inmemory.Config{}), store: &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}}}
	d.rt = &speaker{Runtime: memory.New(memory.Config{})}
	d.pod = plainPod(func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
	sandbox := runtime.Sandbox{ID: "s", Incarnation: 1, Ready: true}
	d.status = &runtime.PodStatus{
		UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: sandbox}},
		Containers: []runtime.ContainerStatus{{
			Container: runtime.Container{ID: "x", Name: "a", SandboxID: "s", Attempt: 2, Incarnation: 1, State: runtime.StateExited},
			StartedAt: time.Unix(1, 0), FinishedAt: time.Unix(2, 0), ExitCode: 1, Reason: "Error",
		}},
	}
	d.restartAgent()
	return d
}

// restartAgent replaces the syncer as after a restart of the agent.
func (d *dying) restartAgent() {
	var err error
	d.syncer, err = podsync.New(podsync.Config{Runtime: d.rt, Status: d.store, Files: d.files})
	require.NoError(d.t, err)
}

// publishedMessage syncs and returns the published termination message.
func (d *dying) publishedMessage() string {
	d.t.Helper()
	_, err := d.syncer.SyncPod(context.Background(), 0, d.pod, nil, d.status)
	require.NoError(d.t, err)
	status, _ := d.store.GetPodStatus("u")
	require.NotNil(d.t, status.ContainerStatuses[0].State.Terminated)
	return status.ContainerStatuses[0].State.Terminated.Message
}

func (d *dying) writeMessage(text string, err error) {
	d.files.WriteTerminationLog("u", "a", 2, text, err)
}

func (d *dying) fallsBack() *dying {
	d.pod.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
	return d
}

func TestMessage_KC9_File(t *testing.T) {
	d := newDying(t)
	d.rt.log = "from the log"
	assert.Empty(t, d.publishedMessage(), "a missing file has no message, and the policy does not use the log")
	assert.Empty(t, d.rt.reads)

	d = newDying(t)
	d.writeMessage("out of cheese", nil)
	assert.Equal(t, "out of cheese", d.publishedMessage())
	assert.Empty(t, d.status.Containers[0].Message, "the status belongs to others, too")
	d.writeMessage("too late", nil)
	assert.Equal(t, "out of cheese", d.publishedMessage(), "read once")
	d.restartAgent()
	assert.Equal(t, "too late", d.publishedMessage(), "and again by the next agent")
}

func TestMessage_KC9_AppendedToTheRuntimes(t *testing.T) {
	d := newDying(t)
	d.status.Containers[0].Message = "killed"
	d.writeMessage("out of cheese", nil)
	assert.Equal(t, "killed: out of cheese", d.publishedMessage())
	assert.Equal(t, "killed: out of cheese", d.publishedMessage(), "once")
}

func TestMessage_KC9_FileBounds(t *testing.T) {
	d := newDying(t)
	d.writeMessage("x"+strings.Repeat("é", 2048), nil)
	assert.Equal(t, strings.Repeat("é", 2048), d.publishedMessage())
	d = newDying(t)
	d.writeMessage(strings.Repeat("é", 2048)+"x", nil)
	got := d.publishedMessage()
	assert.True(t, utf8.ValidString(got), "cut in the middle of a letter")
	assert.Equal(t, strings.Repeat("é", 2047)+"x", got)
}

func TestMessage_KC9_Log(t *testing.T) {
	d := newDying(t).fallsBack()
	d.rt.log = strings.Repeat("0123456789\n", 1000)
	assert.Equal(t, d.rt.log[len(d.rt.log)-2048:], d.publishedMessage())
	assert.Equal(t, []runtime.ReadLogRequest{{ContainerID: "x", Tail: 80}}, d.rt.reads)
	d.publishedMessage()
	assert.Len(t, d.rt.reads, 1, "read once")

	for why, change := range map[string]func(*dying){
		"it has succeeded":   func(d *dying) { d.status.Containers[0].ExitCode = 0 },
		"it never ran":       func(d *dying) { d.status.Containers[0].Reason = "ContainerCannotRun" },
		"another life's":     func(d *dying) { d.status.Containers[0].Incarnation = 7; d.pod.Spec.Containers[0].Name = "b" },
		"its file says more": func(d *dying) { d.writeMessage("x", nil) },
	} {
		d := newDying(t).fallsBack()
		d.rt.log = "log"
		change(d)
		_, err := d.syncer.SyncPod(context.Background(), 0, d.pod, nil, d.status)
		_ = err // The result does not matter. Only the reads do.
		assert.Empty(t, d.rt.reads, why)
	}
}

func TestMessage_KC9_Errors(t *testing.T) {
	d := newDying(t)
	d.writeMessage("", errors.New("it is a FIFO"))
	assert.Equal(t, "the termination message cannot be read: it is a FIFO", d.publishedMessage())
	d.writeMessage("found", nil)
	assert.Equal(t, "found", d.publishedMessage(), "an error is not the last word")

	d = newDying(t).fallsBack()
	d.rt.err = errors.New("disk on fire")
	assert.Equal(t, "the termination message cannot be read: log: disk on fire", d.publishedMessage())
	d.rt.err = runtime.ErrNotFound
	assert.Empty(t, d.publishedMessage(), "a log that is gone says nothing")
}

// A file that the container mounts over the termination log is not read.
func TestMessage_KC8_Mount(t *testing.T) {
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.HostNetwork = true
		p.Spec.Containers[0].TerminationMessagePath = "dev/last//words"
	})
	cfg := podsync.Config{Files: inmemory.New(inmemory.Config{}), HostIPs: []string{"192.0.2.1"}}
	seen, err := recordRequests(t, pod, cfg)
	require.NoError(t, err)
	assert.Equal(t, []runtime.Mount{
		{ContainerPath: "/etc/hosts", HostPath: "/inmemory/pods/u/etc-hosts"},
		{ContainerPath: "/dev/last/words", HostPath: "/inmemory/pods/u/containers/a/0"},
	}, seen.container.Mounts)

	pod.Spec.Containers[0].TerminationMessagePath = ""
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/etc/hosts/"}, {Name: "v", MountPath: "/x"}}
	seen, err = recordRequests(t, pod, cfg)
	require.NoError(t, err)
	assert.Equal(t, []runtime.Mount{{ContainerPath: "/dev/termination-log", HostPath: "/inmemory/pods/u/containers/a/0"}}, seen.container.Mounts)
}
