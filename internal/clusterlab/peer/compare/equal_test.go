//go:build peer

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// transcript lists the calls and results of a driver, in order.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

func (t *transcript) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// requireTranscript runs a story with each driver, and compares the transcript of each with the wanted one.
func requireTranscript(t *testing.T, want string, story func(d driver, log *transcript)) {
	t.Helper()
	for _, d := range []driver{kubeletDriver{}, podkeelDriver{}} {
		log := &transcript{}
		story(d, log)
		if got := strings.Join(log.lines, "\n"); got != strings.TrimSpace(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", d.name(), got, strings.TrimSpace(want))
		}
	}
}

// A busy pod gets one more sync for all its updates. A kill makes one call of SyncTerminatingPod and one of
// SyncTerminatedPod.
func TestEqual_Workers(t *testing.T) {
	requireTranscript(t, `
pod 0: SyncPod
pod 0: three updates
pod 0: SyncPod
pod 0: SyncPod
pod 0: SyncTerminatingPod
pod 0: SyncTerminatedPod
records: 0
`, func(d driver, log *transcript) {
		pod := makePods(1)[0]
		begun, release, terminated := make(chan struct{}), make(chan struct{}), make(chan struct{})
		w := d.newWorkers(syncer{
			syncPod: func(uid types.UID) {
				log.add("pod 0: SyncPod")
				begun <- struct{}{}
				<-release
			},
			terminating: func(types.UID) { log.add("pod 0: SyncTerminatingPod") },
			terminated: func(types.UID) {
				log.add("pod 0: SyncTerminatedPod")
				close(terminated)
			},
		})
		w.sendUpdate(pod, createPod)
		<-begun
		log.add("pod 0: three updates")
		for range 3 {
			w.sendUpdate(pod, updatePod)
		}
		release <- struct{}{}
		<-begun
		release <- struct{}{}
		awaitIdle()
		w.sendUpdate(pod, updatePod)
		<-begun
		release <- struct{}{}
		w.sendUpdate(pod, killPod)
		<-terminated
		awaitIdle()
		log.add("records: %d", w.forgetFinished())
		w.stopWorkers()
	})
}

// Workers that read a PLEG make the same calls for each pod.
func TestEqual_Node(t *testing.T) {
	requireTranscript(t, `
created: 3 of 3 synced, 3 running
killed: 3 of 3 terminated, 0 running
calls: 3 SyncPod, 3 SyncTerminatingPod
records: 0
`, func(d driver, log *transcript) {
		r := newRuntime()
		running := func() (n int) {
			for _, p := range r.listPods() {
				if p.running {
					n++
				}
			}
			return n
		}
		var mu sync.Mutex
		var syncs, stops int
		c := newCrew(makePods(3), func(uid types.UID) {
			r.startPod(uid)
			mu.Lock()
			syncs++
			mu.Unlock()
		}, func(uid types.UID) {
			r.stopPod(uid)
			mu.Lock()
			stops++
			mu.Unlock()
		}, func(s syncer) podWorkers { return d.newNode(s, r) })
		c.createPods()
		log.add("created: %d of 3 synced, %d running", len(c.pods), running())
		c.killPods()
		log.add("killed: %d of 3 terminated, %d running", len(c.pods), running())
		log.add("calls: %d SyncPod, %d SyncTerminatingPod", syncs, stops)
		awaitIdle()
		log.add("records: %d", c.forgetFinished())
		c.stopWorkers()
	})
}

// A queue returns each due pod once, and no other.
func TestEqual_Queue(t *testing.T) {
	requireTranscript(t, `
nothing due: 0
due: `+string(podUID(2))+" "+string(podUID(1))+`
once: 0
later: `+string(podUID(0))+`
`, func(d driver, log *transcript) {
		q := d.newQueue()
		for i := range 4 {
			q.enqueue(podUID(i), false)
		}
		log.add("nothing due: %d", len(q.takeDue()))
		due := func() string {
			var all []string
			for _, uid := range q.takeDue() {
				all = append(all, string(uid))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		q.enqueue(podUID(1), true)
		q.enqueue(podUID(2), true)
		log.add("due: %s", due())
		log.add("once: %d", len(q.takeDue()))
		q.enqueue(podUID(0), true)
		log.add("later: %s", due())
	})
}

// A PLEG has events of the changed pods only.
func TestEqual_Relist(t *testing.T) {
	requireTranscript(t, `
first: 3
unchanged: 0
a new container: 1
two exits: 2
all removed: 3
unchanged: 0
`, func(d driver, log *transcript) {
		r := newRuntime(podUID(0), podUID(1), podUID(2))
		p := d.newPLEG(r)
		relist := func(what string) {
			p.prepareListing()
			log.add("%s: %d", what, p.relistPods())
		}
		relist("first")
		relist("unchanged")
		r.startPod(podUID(1))
		relist("a new container")
		r.stopPod(podUID(0))
		r.stopPod(podUID(2))
		relist("two exits")
		r.removePods()
		relist("all removed")
		relist("unchanged")
	})
}

// A merge has the same changes for a list and for single additions.
func TestEqual_Merge(t *testing.T) {
	requireTranscript(t, `
list: [{ADD 3}]
no pods: [{REMOVE 3}]
added: [{ADD 1}]
added: [{ADD 1}]
`, func(d driver, log *transcript) {
		m := d.newMerge()
		log.add("list: %v", m.replacePods(makePods(3)))
		log.add("no pods: %v", m.replacePods(nil))
		for _, pod := range makePods(2) {
			log.add("added: %v", m.addPod(pod))
		}
	})
}

// A source of files replaces the pod of a changed manifest.
func TestEqual_Files(t *testing.T) {
	requireTranscript(t, `
start: [{ADD 3}]
one changed: [{REMOVE 1} {ADD 1}]
`, func(d driver, log *transcript) {
		root := t.TempDir()
		dir := filepath.Join(root, "manifests")
		exitOnError(os.Mkdir(dir, 0o755))
		for i := range 3 {
			exitOnError(os.WriteFile(manifestPath(dir, i), manifestText(i, 0), 0o644))
		}
		f := d.newFiles(dir)
		log.add("start: %v", f.awaitAddedPods())
		awaitIdle() // The kubelet watches the directory only after it has read the files.
		draft := filepath.Join(root, "draft")
		exitOnError(os.WriteFile(draft, manifestText(1, 1), 0o644))
		exitOnError(os.Rename(draft, manifestPath(dir, 1)))
		log.add("one changed: %v", f.awaitAddedPods())
	})
}

// Each changed status is patched once, and the server stores the same content for both. The kubelet reads each pod
// before it patches it.
func TestEqual_Sender(t *testing.T) {
	requireTranscript(t, `
pod-0: Running first, 4 conditions, 1 containers
pod-1: Running first, 4 conditions, 1 containers
pod-2: Running first, 4 conditions, 1 containers
patches: 3
patches without a change: 0
pod-1: Running second, 4 conditions, 1 containers
patches: 1
`, func(d driver, log *transcript) {
		pods := makePods(3)
		server := newServer(pods, 0)
		defer server.Close()
		s := d.newSender(server.URL, pods)
		defer s.stopSending()
		set := func(reason string, numbers ...int) {
			for _, i := range numbers {
				s.setStatus(pods[i], runningStatus(reason))
			}
		}
		received := func(n int) {
			var lines []string
			for range n {
				p := <-server.patched
				lines = append(lines, fmt.Sprintf("%s: %s %s, %d conditions, %d containers", p.Name, p.Status.Phase, p.Status.Reason, len(p.Status.Conditions), len(p.Status.ContainerStatuses)))
			}
			slices.Sort(lines)
			log.lines = append(log.lines, lines...)
		}
		patches := func() int {
			awaitIdle()
			return server.takeRequests()[http.MethodPatch]
		}
		set("first", 0, 1, 2)
		received(3)
		log.add("patches: %d", patches())
		set("first", 0, 1, 2)
		log.add("patches without a change: %d", patches())
		set("second", 1)
		received(1)
		log.add("patches: %d", patches())
	})
}
