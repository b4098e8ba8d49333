package checkpoint_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
)

func newPod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Command: []string{"serve"}}}},
	}
}

func evictedStatus(message string) *v1.PodStatus {
	return &v1.PodStatus{
		Phase: v1.PodFailed, Reason: "Evicted", Message: message,
		ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137}}}},
	}
}

// openDirAndLog returns a Dir in the state after the start of an agent, and its log.
func openDirAndLog(t *testing.T, root string) (*checkpoint.Dir, string) {
	t.Helper()
	var log bytes.Buffer
	d, err := checkpoint.New(checkpoint.Config{Root: root, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))})
	require.NoError(t, err)
	return d, strings.ReplaceAll(log.String(), root+"/", "")
}

func fileNames(t *testing.T, root string) []string {
	t.Helper()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func isAnyPod(types.UID) bool { return true }

// The next agent gets the last saved status, once.
func TestDir_NextAgent(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "ended")
	d, _ := openDirAndLog(t, root)
	require.NoError(t, d.Save(newPod("web"), &v1.PodStatus{Phase: v1.PodFailed}))
	require.NoError(t, d.Save(newPod("web"), evictedStatus("the disk is full")))
	_, ok := d.Consume(newPod("web"))
	assert.False(t, ok, "it is not of an agent before this one")
	info, err := os.Stat(filepath.Join(root, "uid-web.json"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	d, log := openDirAndLog(t, root)
	assert.Empty(t, log)
	_, ok = d.Consume(newPod("other"))
	assert.False(t, ok)
	got, ok := d.Consume(newPod("web"))
	assert.True(t, ok)
	assert.Equal(t, *evictedStatus("the disk is full"), got)
	_, ok = d.Consume(newPod("web"))
	assert.False(t, ok, "who comes later under the UID has not ended")
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root), "it is for the agent after this one, too")
}

// A pod that was replaced under its UID does not get the terminal status.
func TestDir_AnotherPod(t *testing.T) {
	for name, change := range map[string]func(*v1.Pod){
		"hash":      func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"serve", "more"} },
		"name":      func(p *v1.Pod) { p.Name = "other" },
		"namespace": func(p *v1.Pod) { p.Namespace = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			d, _ := openDirAndLog(t, root)
			require.NoError(t, d.Save(newPod("web"), evictedStatus("")))
			d, _ = openDirAndLog(t, root)
			another := newPod("web")
			change(another)
			_, ok := d.Consume(another)
			assert.False(t, ok)
		})
	}
}

// A later agent does not get a dropped status. Dropping it again is not an error.
func TestDir_Drop(t *testing.T) {
	root := t.TempDir()
	d, _ := openDirAndLog(t, root)
	for _, name := range []string{"c", "a", "b"} {
		require.NoError(t, d.Save(newPod(name), evictedStatus("")))
	}
	d, _ = openDirAndLog(t, root)
	uids, err := d.Pods(func(uid types.UID) bool { return uid != "uid-a" }, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-b", "uid-c"}, uids)
	uids, err = d.Pods(isAnyPod, 2)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-a", "uid-b"}, uids)

	require.NoError(t, d.Drop("uid-a"))
	require.NoError(t, d.Drop("uid-a"))
	_, ok := d.Consume(newPod("a"))
	assert.False(t, ok)
	uids, err = d.Pods(isAnyPod, 10)
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"uid-b", "uid-c"}, uids)
	assert.Equal(t, []string{"uid-b.json", "uid-c.json"}, fileNames(t, root))
}

// A file without a terminal status is reported in one sentence and ignored; the others are read.
func TestNew_BadFiles(t *testing.T) {
	root := t.TempDir()
	d, _ := openDirAndLog(t, root)
	require.NoError(t, d.Save(newPod("web"), evictedStatus("")))
	good, err := os.ReadFile(filepath.Join(root, "uid-web.json"))
	require.NoError(t, err)
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	put("a-cut.json", string(good[:40]))
	put("b-copy.json", string(good))
	put("c-version.json", strings.Replace(string(good), `"version":1`, `"version":2`, 1))
	put("d-phase.json", strings.ReplaceAll(strings.Replace(string(good), "Failed", "Running", 1), "uid-web", "d-phase"))
	put("e-uid.json", strings.Replace(string(good), "uid-web", "../web", 1))
	put("f-large.json", string(good)+strings.Repeat(" ", checkpoint.MaxSize))
	require.NoError(t, os.Symlink(filepath.Join(root, "uid-web.json"), filepath.Join(root, "g-link.json")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "h-dir.json"), 0o700))
	put(".uid-web", "half of it")
	put("notes.txt", "not ours")

	d, log := openDirAndLog(t, root)
	said := `msg="cannot read a file with a terminal status; it is ignored" file=`
	assert.Equal(t, said+`a-cut.json err="unexpected end of JSON input" movedTo=a-cut.json.damaged
`+said+`b-copy.json err="it belongs to pod uid-web, which has another file name"
`+said+`c-version.json err="its version is 2, expected 1"
`+said+`d-phase.json err="its phase is \"Running\": expected Succeeded or Failed" movedTo=d-phase.json.damaged
`+said+`e-uid.json err="invalid UID \"../web\": `+podspec.UIDRule+`" movedTo=e-uid.json.damaged
`+said+`f-large.json err="it has more than 262144 bytes"
`+said+`g-link.json err="not a regular file: a symbolic link"
`+said+`h-dir.json err="not a regular file: a directory"
`, log)
	_, ok := d.Consume(newPod("web"))
	assert.True(t, ok)
	assert.NotContains(t, fileNames(t, root), ".uid-web", "what was not finished is nothing")
	assert.Contains(t, fileNames(t, root), "notes.txt")
}

// If there are too many files some are read, and that is reported.
func TestNew_TooMany(t *testing.T) {
	root := t.TempDir()
	for i := range checkpoint.MaxFiles + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("%05d.json", i)), nil, 0o600))
	}
	_, log := openDirAndLog(t, root)
	assert.True(t, strings.HasPrefix(log, `msg="cannot read all terminal statuses of an earlier agent; they are ignored" dir=`+root+` err="there are more than 4096 of them"`), log[:300])
	assert.Equal(t, checkpoint.MaxFiles+1, strings.Count(log, "\n"))
}

// A status that is too large is stored without its containers.
func TestSave_Large(t *testing.T) {
	root := t.TempDir()
	d, _ := openDirAndLog(t, root)
	status := evictedStatus("so")
	for range 1000 {
		status.ContainerStatuses = append(status.ContainerStatuses, v1.ContainerStatus{Name: strings.Repeat("c", 1000)})
	}
	require.NoError(t, d.Save(newPod("web"), status))
	assert.Len(t, status.ContainerStatuses, 1001, "it belongs to others")
	d, _ = openDirAndLog(t, root)
	got, ok := d.Consume(newPod("web"))
	assert.True(t, ok)
	assert.Equal(t, v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "so"}, got)

	status.Message = strings.Repeat("m", checkpoint.MaxSize)
	assert.EqualError(t, d.Save(newPod("web"), status), "checkpoint: it has more than 262144 bytes")
}

// A link at the place of a file is replaced, and its target is not changed.
func TestSave_Links(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "passwd")
	require.NoError(t, os.WriteFile(outside, []byte("theirs"), 0o600))
	d, _ := openDirAndLog(t, root)
	for _, name := range []string{"uid-web.json", ".uid-web"} {
		require.NoError(t, os.Symlink(outside, filepath.Join(root, name)))
	}
	require.NoError(t, d.Save(newPod("web"), evictedStatus("")))
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(text))
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root))
	info, err := os.Lstat(filepath.Join(root, "uid-web.json"))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular())
}

// A failed write is an error, and the old file stays.
func TestSave_Errors(t *testing.T) {
	root := t.TempDir()
	d, _ := openDirAndLog(t, root)
	odd := newPod("web")
	odd.UID = "../web"
	assert.EqualError(t, d.Save(odd, evictedStatus("")), `checkpoint: invalid UID "../web": `+podspec.UIDRule)
	require.NoError(t, d.Drop(odd.UID))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "uid-web.json", "x"), 0o700))
	require.Error(t, d.Save(newPod("web"), evictedStatus("")))
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root), "nothing half done is left")
	require.NoError(t, os.RemoveAll(root))
	require.ErrorIs(t, d.Save(newPod("web"), evictedStatus("")), os.ErrNotExist)

	_, err := checkpoint.New(checkpoint.Config{Root: "ended"})
	assert.EqualError(t, err, `checkpoint: Config.Root is no absolute path: "ended"`)
	_, err = checkpoint.New(checkpoint.Config{Root: filepath.Join(os.DevNull, "ended")})
	require.Error(t, err)
}

// Remove calls gone while no other call changes the file. So a file that a new pod of the UID saves
// is not removed by a caller that removes the old one.
func TestRemove_CallsGoneUnderTheLock(t *testing.T) {
	root := t.TempDir()
	d, _ := openDirAndLog(t, root)
	require.NoError(t, d.Save(newPod("web"), evictedStatus("")))
	asked := 0
	keep := func(types.UID) bool { asked++; return false }
	require.NoError(t, d.Remove(t.Context(), "uid-web", keep))
	assert.Equal(t, 1, asked)
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root))

	saved := make(chan error, 1)
	require.NoError(t, d.Remove(t.Context(), "uid-web", func(types.UID) bool {
		began := make(chan struct{})
		go func() {
			close(began)
			saved <- d.Save(newPod("web"), evictedStatus("again")) // It waits for the removal.
		}()
		<-began
		return true
	}))
	require.NoError(t, <-saved)
	assert.Equal(t, []string{"uid-web.json"}, fileNames(t, root), "what was saved last is there")
	again, _ := openDirAndLog(t, root)
	status, ok := again.Consume(newPod("web"))
	assert.True(t, ok)
	assert.Equal(t, "again", status.Message)
}

// A time that could not be read again is refused when it is written.
func TestSave_YearAfter9999(t *testing.T) {
	d, _ := openDirAndLog(t, t.TempDir())
	status := evictedStatus("so")
	status.StartTime = &metav1.Time{Time: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	require.NoError(t, d.Save(newPod("web"), status))
	status.StartTime = &metav1.Time{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	assert.ErrorContains(t, d.Save(newPod("web"), status), `checkpoint: parsing time "10000-01-01T00:00:00Z"`)
}

// TestMuseum_K117589_ADamagedFile: in the kubelet a checkpoint that was damaged by a power failure
// stopped the agent at each start, and with it all pods of the node. Here a damaged file is
// reported in one line and ignored.
func TestMuseum_K117589_ADamagedFile(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"cut":   func(text []byte) []byte { return text[:len(text)/2] },
		"zeros": func(text []byte) []byte { return make([]byte, len(text)) },
		"list":  func([]byte) []byte { return []byte("[]") },
	} {
		root := t.TempDir()
		d, _ := openDirAndLog(t, root)
		require.NoError(t, d.Save(newPod("web"), evictedStatus("")))
		require.NoError(t, d.Save(newPod("other"), evictedStatus("")))
		file := filepath.Join(root, "uid-web.json")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, damage(text), 0o600))

		d, log := openDirAndLog(t, root)
		assert.Equal(t, 1, strings.Count(log, "\n"), "%s: %s", name, log)
		assert.Contains(t, log, "file=uid-web.json ", name)
		assert.Contains(t, log, "movedTo=uid-web.json.damaged\n", name)
		_, log = openDirAndLog(t, root)
		assert.Empty(t, log, "%s: it is reported once", name)
		moved, err := os.ReadFile(file + ".damaged")
		require.NoError(t, err)
		assert.Equal(t, string(damage(text)), string(moved), name)
		_, ok := d.Consume(newPod("web"))
		assert.False(t, ok, name)
		_, ok = d.Consume(newPod("other"))
		assert.True(t, ok, name)
		require.NoError(t, d.Save(newPod("web"), evictedStatus("")), "%s: it can be saved again", name)
	}
}

// At most 16 damaged files are set aside; the others stay in place and are reported at each start.
// A file of another version is not damaged and stays, so that the agent of that version can read
// it.
func TestDir_DamagedAreBounded(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("uid-%02d.json", i)), []byte("{"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "uid-newer.json"), []byte(`{"version":2,"uid":"uid-newer","status":[]}`), 0o600))
	for _, moved := range []int{16, 0} {
		_, log := openDirAndLog(t, root)
		assert.Equal(t, moved, strings.Count(log, "movedTo="))
		assert.Equal(t, moved+5, strings.Count(log, "\n"), "4 damaged files and the newer one stay")
		assert.Contains(t, fileNames(t, root), "uid-newer.json")
	}
}
