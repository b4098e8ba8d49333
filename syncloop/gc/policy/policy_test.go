package policy

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories runs the texts in testdata. A machine is lines of
//
//	pod UID
//	sandbox NUMBER [ready] [life=N]
//	NAME/ATTEMPT STATE [in=SANDBOX] [at=CREATED] [end=FINISHED] [life=N]
//
// and "decide now=60s min-age=1s max-age=1m per-container=1 per-pod=3 all=10"
// shows its removals. A directory of logs is a file on each line, and
// "rotate log=0.log files=N now=60s" shows the plan for a log; a file that is
// the log by another name has "live" after it.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "rotate" {
				return rotate(t, d)
			}
			pods := parse(t, d.Input)
			p, now := Containers{}, start.Add(time.Hour)
			for _, arg := range d.CmdArgs {
				value := arg.Vals[0]
				switch arg.Key {
				case "now":
					now = start.Add(duration(t, value))
				case "min-age":
					p.MinAge = duration(t, value)
				case "max-age":
					p.MaxAge = duration(t, value)
				case "per-container":
					p.MaxPerPodContainer = number(t, value)
				case "per-pod":
					p.MaxPerPod = number(t, value)
				case "all":
					p.MaxContainers = number(t, value)
				default:
					d.Fatalf(t, "%s?", arg.Key)
				}
			}
			var out strings.Builder
			for i, r := range p.Decide(pods, now) {
				if !r.Empty() {
					fmt.Fprintf(&out, "%s: %s\n", pods[i].UID, strings.Join(append(r.Containers, r.Sandboxes...), " "))
				}
				if !r.Next.IsZero() {
					fmt.Fprintf(&out, "%s: next at %s\n", pods[i].UID, r.Next.Sub(start))
				}
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		})
	})
}

// rotate shows what a rotation does, one thing a line.
func rotate(t *testing.T, d *datadriven.TestData) string {
	var log, now string
	var p Logs
	d.ScanArgs(t, "log", &log)
	d.ScanArgs(t, "now", &now)
	d.MaybeScanArgs(t, "files", &p.MaxFiles)
	var files []LogFile
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		files = append(files, LogFile{Name: words[0], Live: len(words) > 1 && words[1] == "live"})
	}
	// In whatever order a directory is read.
	rand.New(rand.NewSource(1)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	r := p.Complete().Rotate(log, files, start.Add(duration(t, now)))
	var out strings.Builder
	for _, name := range r.Remove {
		fmt.Fprintf(&out, "remove %s\n", name)
	}
	fmt.Fprintf(&out, "rename to %s\n", r.Name)
	for _, name := range r.Compress {
		fmt.Fprintf(&out, "compress %s\n", name)
	}
	return out.String()
}

// F95: zero is the kubelet's numbers, negative is never.
func TestLogs_F95_Complete(t *testing.T) {
	assert.Equal(t, Logs{MaxBytes: 10 << 20, MaxFiles: 5}, Logs{}.Complete())
	assert.Equal(t, Logs{MaxBytes: 1, MaxFiles: 2}, Logs{MaxBytes: 1, MaxFiles: 2}.Complete())
	assert.False(t, Logs{}.Complete().IsDisabled())
	assert.True(t, Logs{MaxBytes: -1}.Complete().IsDisabled())
	assert.True(t, Logs{MaxFiles: -1}.Complete().IsDisabled())
}

// F95: however often, and whatever the clock does meanwhile, there are never more
// files than that, the newest are there, and their names are in order.
func TestLogs_F95_Rotate(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		p := Logs{MaxFiles: 2 + r.Intn(5)}.Complete()
		var names []string // of the present files, the oldest first
		now := start
		for n := range 20 {
			now = now.Add(time.Duration(r.Intn(40)-15) * time.Second)
			files := []LogFile{{Name: "0.log.txt"}, {Name: "0.log.20260101-00000"}}
			for _, i := range r.Perm(len(names)) {
				files = append(files, LogFile{Name: names[i]})
			}
			rotation := p.Rotate("0.log", files, now)
			names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(rotation.Remove, name) })
			for _, name := range rotation.Compress {
				names[slices.Index(names, name)], _ = Compressed(name)
			}
			names = append(names, rotation.Name)
			require.Len(t, names, min(n+1, p.MaxFiles-1), "seed %d", seed)
			require.True(t, slices.IsSorted(names), "seed %d: %s", seed, names)
			for i, name := range names {
				require.Equal(t, i < len(names)-1, strings.HasSuffix(name, ".gz"), "seed %d: all but the newest are compressed: %s", seed, names)
			}
		}
	}
}

func parse(t *testing.T, text string) (pods []*runtime.PodStatus) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		opts := map[string]string{}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			opts[key] = value
		}
		if words[0] == "pod" {
			uid := ""
			if len(words) > 1 {
				uid = words[1]
			}
			pods = append(pods, &runtime.PodStatus{UID: types.UID(uid)})
			continue
		}
		pod, life := pods[len(pods)-1], uint64(1)
		if l, ok := opts["life"]; ok {
			life = uint64(number(t, l))
		}
		if words[0] == "sandbox" {
			_, ready := opts["ready"]
			pod.Sandboxes = append(pod.Sandboxes, runtime.SandboxStatus{Sandbox: runtime.Sandbox{
				ID: "s" + words[1], Attempt: uint32(number(t, words[1])), Ready: ready, Incarnation: life,
			}})
			continue
		}
		name, attempt, _ := strings.Cut(words[0], "/")
		c := runtime.ContainerStatus{Container: runtime.Container{
			ID: words[0], Name: name, Attempt: uint32(number(t, attempt)), Incarnation: life, SandboxID: "s" + opts["in"],
		}}
		for s := runtime.StateUnknown; s <= runtime.StateExited; s++ {
			if s.String() == words[1] {
				c.State = s
			}
		}
		if at, ok := opts["at"]; ok {
			c.CreatedAt = start.Add(duration(t, at))
		}
		if end, ok := opts["end"]; ok {
			c.FinishedAt = start.Add(duration(t, end))
		}
		if life != 1 {
			c.ID += "'" + strconv.Itoa(int(life))
		}
		pod.Containers = append(pod.Containers, c)
	}
	return pods
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// Whatever the records and the policy: what must stay is never named.
func TestDecide_NeverNamed(t *testing.T) {
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		var pods []*runtime.PodStatus
		for u := range 1 + r.Intn(4) {
			pod := &runtime.PodStatus{UID: types.UID(fmt.Sprint("u", u))}
			for i := range r.Intn(12) {
				pod.Containers = append(pod.Containers, runtime.ContainerStatus{
					Container: runtime.Container{
						ID: fmt.Sprint(u, "-", i), Name: string(rune('a' + r.Intn(3))), Attempt: uint32(r.Intn(6)),
						Incarnation: uint64(r.Intn(2)), State: runtime.State(r.Intn(4)), SandboxID: fmt.Sprint("s", r.Intn(4)),
					},
					CreatedAt: start.Add(time.Duration(r.Intn(100)) * time.Second),
				})
			}
			for i := range r.Intn(4) {
				pod.Sandboxes = append(pod.Sandboxes, runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: fmt.Sprint("s", i), Attempt: uint32(i), Ready: r.Intn(2) == 0}})
			}
			pods = append(pods, pod)
		}
		p := Containers{
			MinAge: time.Duration(r.Intn(50)) * time.Second, MaxAge: time.Duration(r.Intn(2)*r.Intn(50)) * time.Second,
			MaxPerPodContainer: r.Intn(4) - 1, MaxPerPod: r.Intn(4), MaxContainers: r.Intn(8),
		}
		now := start.Add(time.Duration(r.Intn(120)) * time.Second)
		for i, removed := range p.Decide(pods, now) {
			check(t, seed, pods[i], removed)
		}
	}
}

func check(t *testing.T, seed int64, pod *runtime.PodStatus, removed Removals) {
	t.Helper()
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if !assert.NotContains(t, removed.Sandboxes, c.SandboxID, "seed %d: it has containers", seed) {
			return
		}
		newest := true
		for j := range pod.Containers {
			o := &pod.Containers[j]
			newest = newest && (o.Name != c.Name || o.Incarnation != c.Incarnation || compareNewestFirst(c, o) <= 0)
		}
		if newest || c.State != runtime.StateExited {
			assert.NotContains(t, removed.Containers, c.ID, "seed %d", seed)
		}
	}
	for i := range pod.Sandboxes {
		if s := &pod.Sandboxes[i]; s.Ready || i == len(pod.Sandboxes)-1 {
			assert.NotContains(t, removed.Sandboxes, s.ID, "seed %d", seed)
		}
	}
}

// GC-8: a name with another format belongs to no pod.
func TestPodOfLogs_GC8(t *testing.T) {
	for name, want := range map[string]types.UID{
		"ns_web_123": "123", "ns_my-pod.1_a-b": "a-b",
		"ns_web": "", "ns_web_": "", "_web_1": "", "ns__1": "", "ns_a_b_c": "b_c", "ns_web_a.b_c-d": "a.b_c-d", "ns_web__x": "", "ns_web_.x": "", "": "", "..": "", "../ns_web_1": "",
		"ns_web_..": "", "ns_web_.": "", "ns_web_a/b": "", `ns_web_a\b`: "", "ns_web_\x00": "", "lost+found": "",
	} {
		uid, ok := PodOfLogs(name)
		assert.Equal(t, want, uid, "%q", name)
		assert.Equal(t, want != "", ok, "%q", name)
	}
}

// KC-2, GC-9: a number, .log, and what rotation adds.
func TestAttemptOfLog_KC2(t *testing.T) {
	for name, want := range map[string]int64{
		"0.log": 0, "12.log": 12, "3.log.20260101-000000": 3, "3.log.20260101-000000.gz": 3, "2147483647.log": 2147483647,
		"2147483648.log": -1, "-1.log": -1, "+1.log": -1, "01.log": -1, "1.logs": -1, "1.txt": -1, "log": -1, ".log": -1, "": -1, "a.log": -1,
	} {
		n, ok := AttemptOfLog(name)
		assert.Equal(t, want >= 0, ok, "%q", name)
		assert.Equal(t, max(want, 0), int64(n), "%q", name)
	}
}

func FuzzPodOfLogs(f *testing.F) {
	f.Add("ns_web_1")
	f.Fuzz(func(t *testing.T, name string) {
		if uid, ok := PodOfLogs(name); ok {
			assert.NotContains(t, string(uid), "/")
			assert.NotContains(t, []types.UID{"", ".", ".."}, uid)
			assert.True(t, strings.HasSuffix(name, "_"+string(uid)))
		}
	})
}

// IG-3: from the high mark down to the low one.
func TestImages_IG3_BytesToFree(t *testing.T) {
	p := Images{}.Complete()
	for used, want := range map[uint64]uint64{0: 0, 8000: 0, 8499: 0, 8500: 500, 10000: 2000, 20000: 12000} {
		assert.Equal(t, want, p.BytesToFree(Disk{10000, used}), "%d", used)
	}
	assert.Zero(t, p.BytesToFree(Disk{0, 5}), "nothing is known")
	assert.Zero(t, Images{HighThresholdPercent: 100}.Complete().BytesToFree(Disk{100, 100}), "never")
	assert.Equal(t, uint64(60), Images{HighThresholdPercent: 40}.Complete().BytesToFree(Disk{100, 100}), "low is not above high")
}

// IG-1 to IG-3: the order of removals, and the images that stay.
func TestImages_Order(t *testing.T) {
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	list := []Image{
		{ID: "used", Used: true}, {ID: "young", FirstSeen: at(900)}, {ID: "b", FirstSeen: at(2), LastUsed: at(50)},
		{ID: "c", FirstSeen: at(1), LastUsed: at(60)}, {ID: "old"}, {ID: "a", FirstSeen: at(3)}, {ID: "a2", FirstSeen: at(4)},
	}
	p := Images{}.Complete()
	ids := func(list []Image) (ids []string) {
		for _, i := range list {
			ids = append(ids, i.ID)
		}
		return ids
	}
	assert.Equal(t, []string{"old", "a", "a2", "b", "c"}, ids(p.ToRemove(list, start, at(1000), true)))
	assert.Empty(t, p.Expired(list, start, at(1000)), "off")
	p.MaxAge = 945 * time.Second
	assert.Equal(t, []string{"old", "a", "a2", "b"}, ids(p.ToRemove(list, start, at(1000), false)))
	assert.Equal(t, []string{"old", "a", "a2", "b", "c"}, ids(p.ToRemove(list, start, at(1000), true)))
	assert.Equal(t, []string{"b"}, ids(p.Expired(list[2:3], at(55), at(1000))))
	assert.Empty(t, p.Expired(list, at(56), at(1000)), "IG-6: no image is older than the agent")
}

func BenchmarkDecide(b *testing.B) {
	var pods []*runtime.PodStatus
	for u := range 110 {
		pod := &runtime.PodStatus{UID: types.UID(fmt.Sprint(u)), Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}}}}
		for c := range 5 {
			for attempt := range uint32(2) {
				state := runtime.StateRunning
				if attempt == 0 {
					state = runtime.StateExited
				}
				pod.Containers = append(pod.Containers, runtime.ContainerStatus{Container: runtime.Container{
					ID: fmt.Sprint(u, c, attempt), Name: fmt.Sprint("c", c), Attempt: attempt, State: state, SandboxID: "s"}})
			}
		}
		pods = append(pods, pod)
	}
	b.ReportAllocs()
	for b.Loop() {
		Containers{}.Decide(pods, start)
	}
}
