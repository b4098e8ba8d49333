//go:build peer

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// prepareRelist makes a PLEG that has seen all pods. Before each relist some pods get a new container.
func prepareRelist(changed int) func(d driver) (measure func() figure, cleanup func()) {
	return func(d driver) (measure func() figure, cleanup func()) {
		uids := make([]types.UID, few)
		for i := range uids {
			uids[i] = podUID(i)
		}
		r := newRuntime(uids...)
		p := d.newPLEG(r)
		exitUnlessEqual("pods with an event", p.relistPods(), few)
		measure = func() figure {
			const relists = 50
			var t timer
			for i := range relists {
				for j := range changed {
					r.startPod(uids[(i*changed+j)%few])
				}
				p.prepareListing()
				t.start()
				found := p.relistPods()
				t.stop()
				exitUnlessEqual("pods with an event", found, changed)
			}
			return t.figurePerOperation(relists)
		}
		return measure, func() {}
	}
}

// copyPods returns copies of pods, because a merge owns its pods.
func copyPods(pods []*v1.Pod) []*v1.Pod {
	copies := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		copies[i] = pod.DeepCopy()
	}
	return copies
}

// prepareList makes a merge without pods.
func prepareList(d driver) (measure func() figure, cleanup func()) {
	m, pods := d.newMerge(), makePods(few)
	measure = func() figure {
		const lists = 5
		var t timer
		for range lists {
			all := copyPods(pods)
			t.start()
			changes := m.replacePods(all)
			t.stop()
			exitUnlessEqual("changes", fmt.Sprint(changes), fmt.Sprint([]change{{"ADD", few}}))
			m.replacePods(nil)
		}
		return t.figurePerOperation(lists)
	}
	return measure, func() {}
}

// prepareAdds makes a merge without pods.
func prepareAdds(d driver) (measure func() figure, cleanup func()) {
	m, pods := d.newMerge(), makePods(few)
	measure = func() figure {
		all := copyPods(pods)
		f := measureProcessorTime(few, func() {
			for _, pod := range all {
				exitUnlessEqual("changes", len(m.addPod(pod)), 1)
			}
		})
		m.replacePods(nil)
		return f
	}
	return measure, func() {}
}

// prepareFiles writes the manifests and waits until they are pods.
func prepareFiles(d driver) (measure func() figure, cleanup func()) {
	root, err := os.MkdirTemp("", "peer-")
	exitOnError(err)
	dir := filepath.Join(root, "manifests")
	exitOnError(os.Mkdir(dir, 0o755))
	for i := range many {
		exitOnError(os.WriteFile(manifestPath(dir, i), manifestText(i, 0), 0o644))
	}
	f := d.newFiles(dir)
	exitUnlessEqual("changes", fmt.Sprint(f.awaitAddedPods()), fmt.Sprint([]change{{"ADD", many}}))
	version := 0
	measure = func() figure {
		time.Sleep(relistPause) // So that the source delivers each change alone.
		version++
		i := version * 97 % many
		draft := filepath.Join(root, "draft")
		exitOnError(os.WriteFile(draft, manifestText(i, version), 0o644))
		return measureElapsedTime(1, func() {
			exitOnError(os.Rename(draft, manifestPath(dir, i)))
			exitUnlessEqual("changes", fmt.Sprint(f.awaitAddedPods()), fmt.Sprint([]change{{"REMOVE", 1}, {"ADD", 1}}))
		})
	}
	return measure, func() { exitOnError(os.RemoveAll(root)) }
}

// manifestPath returns the path of the manifest with a number.
func manifestPath(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("static-%d.yaml", i))
}

// prepareStatus stores a status of each pod.
func prepareStatus(changed bool) func(d driver) (measure func() figure, cleanup func()) {
	return func(d driver) (measure func() figure, cleanup func()) {
		s, pods, version := d.newStatuses(), makePods(few), 0
		measure = func() figure {
			const each = 20
			versions := make([]v1.PodStatus, each)
			for i := range versions {
				versions[i] = runningStatus(fmt.Sprint(version))
				if changed {
					version++
				}
			}
			for _, pod := range pods {
				s.setStatus(pod, versions[0])
			}
			return measureProcessorTime((each-1)*few, func() {
				for _, status := range versions[1:] {
					for _, pod := range pods {
						s.setStatus(pod, status)
					}
				}
			})
		}
		return measure, s.stopSending
	}
}

// prepareSender starts a server that has the pods.
func prepareSender(d driver) (measure func() figure, cleanup func()) {
	const n, distance = 100, 20 * time.Millisecond
	pods := makePods(n)
	server := newServer(pods, distance)
	s, version := d.newSender(server.URL, pods), 0
	measure = func() figure {
		version++
		status := runningStatus(fmt.Sprint(version))
		return measureElapsedTime(1, func() {
			for _, pod := range pods {
				s.setStatus(pod, status)
			}
			receiveAll(server.patched, n)
		})
	}
	return measure, func() { s.stopSending(); server.Close() }
}
