package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
)

// killProcess kills the process at this moment: the state directory stays as it is now. change then changes what another moment
// would have left in it.
func (p *process) killProcess(change func(desired string)) {
	synctest.Wait() // Nothing changes the files during the copy.
	saved := filepath.Join(p.TempDir(), "state")
	require.NoError(p, os.CopyFS(saved, os.DirFS(p.state)))
	p.stopWithSignal(os.Interrupt)
	require.NoError(p, os.RemoveAll(p.state))
	require.NoError(p, os.CopyFS(p.state, os.DirFS(saved)))
	change(filepath.Join(p.state, "desired"))
}

// removeFiles removes all files in a directory.
func (m *machine) removeFiles(dir string) {
	entries, err := os.ReadDir(dir)
	require.NoError(m, err)
	for _, entry := range entries {
		require.NoError(m, os.Remove(filepath.Join(dir, entry.Name())))
	}
}

// listStates returns the states of a pod that were reported, without their times, and forgets all reports.
func (s *scripted) listStates(name string) (states []string) {
	for _, report := range s.reports {
		if fields := strings.SplitN(report, " ", 3); fields[1] == name {
			states = append(states, fields[2])
		}
	}
	s.reports = nil
	return states
}

// TestRun_DeleteKillApply deletes a pod, kills the gateway, and applies the pod again under the same name. The kill comes
// at each moment of the deletion, and the pod is applied before or after the next start. It is a new pod in each case: a
// job that has completed runs once more, and a server has a new container.
func TestRun_DeleteKillApply(t *testing.T) {
	t.Parallel()
	const duringDelete, afterSave = -2 * time.Second, -time.Second // Moments within the handling of one message.
	for _, pod := range []struct{ name, spec, end string }{{"job", job, "0/1 Completed"}, {"web", server, "1/1 Running"}} {
		for _, killed := range []time.Duration{duringDelete, 0, time.Second, 4 * time.Second, 10 * time.Second, time.Minute} {
			for _, applied := range []time.Duration{afterSave, 0, 10 * time.Second, time.Minute} {
				synctest.Test(t, func(t *testing.T) {
					what := fmt.Sprintf("%s, killed %v after the deletion (%v: during it), applied %v after the next start (%v: during a save before it)", pod.name, killed, duringDelete, applied, afterSave)
					m := newMachine(t)
					p := m.startProcess()
					p.applyAndWait(pod.name, pod.spec)
					before := m.listContainers()
					require.Len(t, before, 1)
					if killed == duringDelete { // The file is removed, and the node does not know it yet.
						p.killProcess(m.removeFiles)
					} else {
						p.bus.messages <- message{Delete: "default/" + pod.name}
						synctest.Wait()
						time.Sleep(killed)
						p.killProcess(func(string) {})
					}
					if applied == afterSave { // The file is there, and no node has known it.
						m.savePod(pod.name, pod.spec)
						p = m.startProcess()
					} else {
						p = m.startProcess()
						time.Sleep(applied)
						synctest.Wait()
						p.bus.listStates(pod.name)
						p.bus.messages <- message{Apply: podJSON(pod.name, pod.spec)}
					}
					time.Sleep(2 * time.Minute)
					synctest.Wait()
					states := p.bus.listStates(pod.name)
					require.NotEmpty(t, states, what)
					assert.Contains(t, states, "1/1 Running", what)
					assert.Equal(t, pod.end, states[len(states)-1], "%s: %q", what, states)
					m.requireNewContainer(before[0], what)
					p.stopWithSignal(os.Interrupt)
				})
			}
		}
	}
}

// requireNewContainer requires one container, which is not the earlier one.
func (m *machine) requireNewContainer(earlier, what string) {
	records := m.listContainers()
	require.Len(m, records, 1, what)
	require.NotEqual(m, earlier[strings.LastIndex(earlier, " "):], records[0][strings.LastIndex(records[0], " "):], what)
}

// TestRun_DeleteApplyKill deletes a pod, applies it again under the same name, and kills the gateway at each moment. The
// next process runs the new pod, and it runs a job once.
func TestRun_DeleteApplyKill(t *testing.T) {
	t.Parallel()
	for _, pod := range []struct{ name, spec, end string }{{"job", job, "0/1 Completed"}, {"web", server, "1/1 Running"}} {
		for _, applied := range []time.Duration{0, time.Second, 4 * time.Second, 10 * time.Second} {
			for _, killed := range []time.Duration{0, 500 * time.Millisecond, time.Second, 4 * time.Second, 10 * time.Second} {
				synctest.Test(t, func(t *testing.T) {
					what := fmt.Sprintf("%s, applied %v after the deletion, killed %v after that", pod.name, applied, killed)
					m := newMachine(t)
					p := m.startProcess()
					p.applyAndWait(pod.name, pod.spec)
					before := m.listContainers()
					require.Len(t, before, 1)
					p.bus.messages <- message{Delete: "default/" + pod.name}
					time.Sleep(applied)
					p.bus.messages <- message{Apply: podJSON(pod.name, pod.spec)}
					synctest.Wait()
					time.Sleep(killed)
					p.killProcess(func(string) {})
					p = m.startProcess()
					time.Sleep(2 * time.Minute)
					synctest.Wait()
					states := p.bus.listStates(pod.name)
					require.NotEmpty(t, states, what)
					assert.Equal(t, pod.end, states[len(states)-1], "%s: %q", what, states)
					m.requireNewContainer(before[0], what)
					p.stopWithSignal(os.Interrupt)
				})
			}
		}
	}
}

// savePod saves a pod as a process does that is killed before it applies the pod.
func (m *machine) savePod(name, spec string) {
	saved, err := checkpoint.NewPods(checkpoint.Config{Root: filepath.Join(m.state, "desired")})
	require.NoError(m, err)
	pod, err := message{Apply: podJSON(name, spec)}.parsePod()
	require.NoError(m, err)
	pod.UID, err = saved.UIDForName(pod.Namespace, pod.Name)
	require.NoError(m, err)
	require.NoError(m, saved.Save(pod))
}

// TestRun_DropFails: the file of a deleted pod cannot be removed. The pod terminates all the same. The name gets no new
// pod, because the next process would find two pods with it, until a later attempt removes the file.
func TestRun_DropFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		p.applyAndWait("job", job)
		before := m.listContainers()
		files, err := filepath.Glob(filepath.Join(m.state, "desired", "*.json"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.Remove(files[0]))
		require.NoError(t, os.MkdirAll(filepath.Join(files[0], "obstacle"), 0o700))
		p.bus.messages <- message{Delete: "default/job"}
		p.applyAndWait("job", job)
		assert.Empty(t, m.listContainers())
		assert.Equal(t, 1, strings.Count(p.log.String(), "cannot handle a message completely\" delete=default/job err="), p.log)
		assert.Equal(t, 1, strings.Count(p.log.String(), `err="pod default/job is not applied: checkpoint: remove `), p.log)
		require.NoError(t, os.RemoveAll(files[0]))
		p.bus.listStates("job")
		p.applyAndWait("job", job)
		assert.Equal(t, "0/1 ContainerCreating, 1/1 Running, 0/1 Completed", strings.Join(p.bus.listStates("job"), ", "))
		m.requireNewContainer(before[0], "after the removal")
		p.stopWithSignal(os.Interrupt)
	})
}

// TestRun_RefusedPod: a saved pod that the handle refuses or no node can run is reported and skipped. The others run, and
// no running pod is terminated: neither an unknown one, nor the refused one. After a deletion of the refused pod the next
// process terminates unknown pods again.
func TestRun_RefusedPod(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(pod *v1.Pod)
	}{
		{"a second pod with its name", func(pod *v1.Pod) { pod.Name = "other" }},
		{"no containers", func(pod *v1.Pod) { pod.Spec.Containers = nil }},
		{"an invalid name", func(pod *v1.Pod) { pod.Spec.Containers[0].Name = "C/" }},
		{"an invalid volume", func(pod *v1.Pod) { pod.Spec.Volumes = []v1.Volume{{Name: "/"}} }},
		{"a mirror pod", func(pod *v1.Pod) { pod.Annotations[v1.MirrorPodAnnotationKey] = "x" }},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t)
			p := m.startProcess()
			for _, name := range []string{"other", "unknown", "web"} {
				p.applyAndWait(name, server)
			}
			p.killProcess(func(desired string) {
				saved, err := checkpoint.NewPods(checkpoint.Config{Root: desired})
				require.NoError(m, err)
				for _, pod := range saved.Load() {
					switch pod.Name {
					case "unknown":
						require.NoError(m, saved.Drop(pod.UID))
					case "web":
						c.change(pod)
						require.NoError(m, saved.Save(pod))
					}
				}
			})
			before := m.listContainers()
			p = m.startProcess()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			assert.Equal(t, 1, strings.Count(p.log.String(), "cannot apply a saved pod; it is skipped"), "%s: %v", c.what, p.log)
			assert.Equal(t, before, m.listContainers(), c.what)
			assert.Len(t, before, 3)
			p.bus.messages <- message{Delete: "default/web"}
			p.killProcess(func(string) {})
			p = m.startProcess()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			assert.Equal(t, "other", strings.Join(m.listRunningPods(), ", "), c.what)
			p.stopWithSignal(os.Interrupt)
		})
	}
}

// TestRun_SecondSignal: a second signal ends the termination of the pods at once. The next process runs them.
func TestRun_SecondSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		p.applyAndWait("slow", `{"terminationGracePeriodSeconds": 60, "containers": [{"name": "c", "image": "img:1"}]}`)
		p.signals <- syscall.SIGTERM
		time.Sleep(time.Second)
		p.signals <- syscall.SIGTERM
		synctest.Wait()
		select {
		case err := <-p.ended:
			require.ErrorIs(t, err, errSignalDuringDrain)
			require.ErrorContains(t, err, "default/slow", "the error names the pods")
		default:
			t.Fatal("the process waits for the pods")
		}
		assert.Equal(t, "slow", strings.Join(m.listRunningPods(), ", "))
		p = m.startProcess()
		time.Sleep(2 * time.Minute)
		assert.Equal(t, "slow", strings.Join(m.listRunningPods(), ", "))
		p.stopWithSignal(os.Interrupt)
	})
}

// listRunningPods returns the sorted names of the pods with a running container.
func (m *machine) listRunningPods() (names []string) {
	for _, record := range m.listContainers() {
		if fields := strings.Fields(record); fields[1] == "running" {
			names = append(names, fields[0])
		}
	}
	return names
}

// TestDropDuplicateSignals: two signals within 100 ms are one, because timeout(1) sends its signal twice.
func TestDropDuplicateSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		passed := dropDuplicateSignals(signals)
		var received []string
		started := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for s := range passed {
				received = append(received, fmt.Sprint(s, " ", time.Since(started)))
			}
		}()
		for _, pause := range []time.Duration{0, duplicateSignalGap - 1, 1, 2 * duplicateSignalGap} {
			time.Sleep(pause)
			signals <- os.Interrupt
		}
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		close(signals)
		<-done
		assert.Equal(t, []string{"interrupt 0s", "interrupt 100ms", "interrupt 300ms", "terminated 300ms"}, received)
	})
}
