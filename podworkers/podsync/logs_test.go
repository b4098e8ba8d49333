package podsync_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// attemptLogs is an AttemptLogs with logs of a number of attempts.
type attemptLogs struct {
	next  uint32
	err   error
	asked []string
}

func (l *attemptLogs) SetUp(runtime.PodRef) error { return nil }

func (l *attemptLogs) NextAttempt(pod runtime.PodRef, container string) (uint32, error) {
	l.asked = append(l.asked, pod.Namespace+"/"+pod.Name+"/"+container)
	return l.next, l.err
}

// KC-2: where records tell, the logs are not asked.
func TestStart_KC2_Records(t *testing.T) {
	logs := &attemptLogs{next: 7}
	machine := memory.New(memory.Config{})
	syncer, _ := newQuietSyncer(t, machine, func(c *podsync.Config) { c.Logs = logs })
	pod := plainPod(func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"false"} })
	for range 2 {
		seen, err := machine.PodStatus(t.Context(), pod.UID)
		require.NoError(t, err)
		_, err = syncer.SyncPod(t.Context(), 0, pod, nil, seen)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"ns/web/a"}, logs.asked)
	assert.Equal(t, uint32(8), machine.SnapshotPod(pod.UID).Containers[0].Attempt)
}

// KC-2: without records and status the logs tell the number of the next attempt;
// if they cannot be read it is zero.
func TestStart_KC2_Logs(t *testing.T) {
	for name, c := range map[string]struct {
		logs    attemptLogs
		attempt uint32
	}{
		"logs":   {attemptLogs{next: 7}, 7},
		"none":   {attemptLogs{}, 0},
		"broken": {attemptLogs{next: 7, err: errors.New("not a directory")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := recordRequests(t, plainPod(), podsync.Config{Logs: &c.logs, LogRoot: "/logs"})
			require.NoError(t, err)
			assert.Equal(t, []string{"ns/web/a"}, c.logs.asked)
			assert.Equal(t, c.attempt, seen.container.Attempt)
			assert.Equal(t, "a/"+string(rune('0'+c.attempt))+".log", seen.container.LogPath)
			assert.Equal(t, string(rune('0'+c.attempt)), seen.container.Annotations[podsync.AnnotationRestartCount])
		})
	}
}

// fullLogs have no room for a directory.
type fullLogs struct{ attemptLogs }

func (l *fullLogs) SetUp(runtime.PodRef) error { return l.err }

// SP-8: without a directory for its logs nothing of a pod is started, and people hear why.
func TestSyncPod_SP8_Logs(t *testing.T) {
	logs, heard, machine := &fullLogs{}, new(told), memory.New(memory.Config{})
	logs.err = errors.New("file name too long")
	syncer, _ := newQuietSyncer(t, machine, func(c *podsync.Config) { c.Logs, c.Recorder = logs, heard })
	_, err := syncer.SyncPod(t.Context(), 0, plainPod(), nil, nil)
	require.ErrorIs(t, err, logs.err)
	assert.Equal(t, []string{"The directory for the logs of the pod cannot be made: file name too long"}, heard.messagesFor("FailedToMakePodDataDirectories"))
	assert.Empty(t, readPodStatus(t, machine).Sandboxes)
}

// linkedLogs note the links that they are to make, and fail.
type linkedLogs struct {
	attemptLogs
	links []string
}

func (l *linkedLogs) Link(pod runtime.PodRef, container, id string, attempt uint32) error {
	l.links = append(l.links, fmt.Sprint(pod.Namespace, "/", pod.Name, "/", container, " ", id, " ", attempt))
	return errors.New("no space")
}

// A link to the log is made when a container has started; the container runs without one, too.
func TestStart_LinksLog(t *testing.T) {
	logs := &linkedLogs{}
	machine := memory.New(memory.Config{})
	syncer, _ := newQuietSyncer(t, machine, func(c *podsync.Config) { c.Logs = logs })
	pod := plainPod()
	for range 2 {
		seen, err := machine.PodStatus(t.Context(), pod.UID)
		require.NoError(t, err)
		_, err = syncer.SyncPod(t.Context(), 0, pod, nil, seen)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"ns/web/a " + machine.SnapshotPod(pod.UID).Containers[0].ID + " 0"}, logs.links)
}

// placedLogs decide where the logs of a pod are, or cannot.
type placedLogs struct {
	attemptLogs
	dir string
}

func (l *placedLogs) LogDir(pod runtime.PodRef) (string, error) {
	return l.dir + "/" + pod.Name, l.err
}

// A LogDirectory chooses the directory of a pod's logs. After its error no sandbox is created.
func TestSandbox_LogDirectory(t *testing.T) {
	seen, err := recordRequests(t, plainPod(), podsync.Config{Logs: &placedLogs{dir: "/made"}, LogRoot: "/logs"})
	require.NoError(t, err)
	assert.Equal(t, "/made/web", seen.sandbox.LogDir)
	assert.Equal(t, "a/0.log", seen.container.LogPath)
	seen, err = recordRequests(t, plainPod(), podsync.Config{Logs: &attemptLogs{}, LogRoot: "/logs"})
	require.NoError(t, err)
	assert.Equal(t, "/logs/ns_web_"+string(plainPod().UID), seen.sandbox.LogDir)
	failed := &placedLogs{}
	failed.err = errors.New("no such record")
	_, err = recordRequests(t, plainPod(), podsync.Config{Logs: failed, LogRoot: "/logs"})
	require.ErrorIs(t, err, failed.err)
}
