package clusterlab_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

// isRewriting reports whether the test writes transcripts instead of comparing them. Another file defines the flag.
func isRewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// settle is how long a node may go on after a story. A kubelet of kubemark syncs every pod
// within 10 s.
const settle = 12 * time.Second

// idle is how long nodes are watched at rest, beside settle.
const idle = 20 * time.Second

// stories are played on both nodes at once, each with pods of its own.
var stories = []struct {
	name string
	play func(*player)
}{
	{"pod-up", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
	}},
	{"init-containers", func(p *player) {
		p.createPod("web", func(pod *v1.Pod) {
			pod.Spec.InitContainers = []v1.Container{{Name: "one", Image: "i:1"}, {Name: "two", Image: "i:1"}}
		})
		p.exitContainer("web", "one")
		p.exitContainer("web", "two")
		p.waitForRunning("web")
	}},
	{"deleted", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		p.deletePod("web", 2)
		p.waitForGone("web")
	}},
	{"force-deleted", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		p.deletePod("web", 0)
		p.waitForGone("web")
	}},
	{"force-deleted-and-recreated", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		p.deletePod("web", 0)
		p.waitForGone("web")
		p.createPod("web")
		p.waitForRunning("web")
	}},
	{"succeeds", func(p *player) {
		p.createPod("job", setRestartNever)
		p.exitContainer("job", "c")
		p.waitForPhase("job", v1.PodSucceeded)
	}},
	{"succeeds-and-is-deleted", func(p *player) {
		p.createPod("job", setRestartNever)
		p.exitContainer("job", "c")
		p.waitForPhase("job", v1.PodSucceeded)
		p.deletePod("job", 30)
		p.waitForGone("job")
	}},
	{"crash-loop", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		for n := int32(1); n <= 2; n++ {
			p.exitContainer("web", "c")
			p.waitForPod("web", fmt.Sprint("restarted ", n, " times"), func(pod *v1.Pod) bool {
				return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount == n && isPodReady(pod)
			})
		}
	}},
	{"readiness-gate", func(p *player) {
		p.createPod("web", func(pod *v1.Pod) {
			pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.org/gate"}}
		})
		p.waitForPhase("web", v1.PodRunning)
		for _, status := range []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse} {
			p.editStatus("web", func(s *v1.PodStatus) {
				s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == "example.org/gate" })
				s.Conditions = append(s.Conditions, v1.PodCondition{Type: "example.org/gate", Status: status})
			})
			p.waitForPod("web", "Ready="+string(status), func(pod *v1.Pod) bool { return isPodReady(pod) == (status == v1.ConditionTrue) })
		}
	}},
	{"volumes", func(p *player) {
		p.createConfigMap("config")
		p.createSecret("secret")
		p.createPod("web", p.withVolumes)
		p.waitForRunning("web")
		p.deletePod("web", 1)
		p.waitForGone("web")
	}},
	{"config-comes-late", func(p *player) {
		p.createSecret("secret")
		p.createPod("web", p.withVolumes)
		p.waitForPod("web", "waits", func(pod *v1.Pod) bool { return len(pod.Status.ContainerStatuses) == 1 })
		p.createConfigMap("config")
		p.waitForRunning("web")
	}},
	{"refused-node-affinity", func(p *player) {
		p.createPod("web", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "tape"} })
		p.waitForPhase("web", v1.PodFailed)
	}},
	{"refused-host-port", func(p *player) {
		port := func(pod *v1.Pod) {
			pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8099}}
		}
		p.createPod("first", port)
		p.waitForRunning("first")
		p.createPod("second", port)
		p.waitForPhase("second", v1.PodFailed)
	}},
	{"deadline", func(p *player) {
		seconds := int64(6)
		p.createPod("job", setRestartNever, func(pod *v1.Pod) { pod.Spec.ActiveDeadlineSeconds = &seconds })
		p.waitForRunning("job")
		p.waitForPhase("job", v1.PodFailed)
	}},
	{"evicted", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		p.evictPod("web")
		p.waitForGone("web")
	}},
	{"status-edited", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		p.editStatus("web", func(s *v1.PodStatus) {
			s.Message = "by hand"
			for i := range s.Conditions {
				if s.Conditions[i].Type == v1.PodReady {
					s.Conditions[i].Status = v1.ConditionFalse
				}
			}
		})
		p.waitForRunning("web")
		p.waitForPod("web", "without the message", func(pod *v1.Pod) bool { return pod.Status.Message == "" })
	}},
	{"static", func(p *player) {
		p.writeStaticPod("dns", "dns:1")
		p.waitForRunning("dns")
		p.writeStaticPod("dns", "")
		p.waitForGone("dns")
	}},
	{"static-changed", func(p *player) {
		p.writeStaticPod("dns", "dns:1")
		p.waitForRunning("dns")
		uid := p.getPod("dns").UID
		p.writeStaticPod("dns", "dns:2")
		p.waitForPod("dns", "a mirror of the change", func(pod *v1.Pod) bool {
			return pod.UID != uid && pod.Spec.Containers[0].Image == "dns:2" && isPodReady(pod)
		})
	}},
	{"mirror-deleted", func(p *player) {
		p.writeStaticPod("log", "log:1")
		p.waitForRunning("log")
		uid := p.getPod("log").UID
		p.deletePod("log", 30)
		p.waitForPod("log", "another mirror", func(pod *v1.Pod) bool { return pod.UID != uid && isPodReady(pod) })
	}},
}

// nodeStories are played one after the other: they change the node.
var nodeStories = []struct {
	name string
	play func(*player)
}{
	{"node-labelled", func(p *player) {
		p.editNode(func(n *v1.Node) { n.Labels["disk"] = "ssd" })
		p.createPod("ssd", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
		p.waitForRunning("ssd")
	}},
	{"node-tainted", func(p *player) {
		p.editNode(func(n *v1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "example.org/t", Effect: v1.TaintEffectNoExecute})
		})
		p.createPod("intolerant")
		p.waitForPhase("intolerant", v1.PodFailed)
		p.editNode(func(n *v1.Node) { n.Spec.Taints = nil })
		p.createPod("tolerant")
		p.waitForRunning("tolerant")
	}},
	{"idle", func(p *player) { time.Sleep(idle) }},
	{"rebooted", func(p *player) {
		p.createPod("web")
		p.waitForRunning("web")
		before := p.getPod("web")
		time.Sleep(time.Second) // The times that are compared are whole seconds.
		p.restartNode()
		p.waitForPod("web", "runs again", func(pod *v1.Pod) bool {
			is, was := pod.Status.ContainerStatuses[0].State.Running, before.Status.ContainerStatuses[0].State.Running
			return pod.UID == before.UID && isPodReady(pod) && is != nil && is.StartedAt.After(was.StartedAt.Time)
		})
	}},
	{"node-deleted", func(p *player) { // The last one: a kubelet does not register again.
		p.createPod("web")
		p.waitForRunning("web")
		p.deleteNode()
	}},
}

// TestAudit: this library sends the same requests as a kubelet, except for the differences in AUDIT.md.
func TestAudit(t *testing.T) {
	t.Parallel() // TestAudit waits most of its time, and TestChurn a good part.
	if !*cluster {
		t.Skip("no control plane without -cluster: it is built from source, which takes minutes")
	}
	_, err := clusterlab.Build(t.Context(), "kubemark")
	requireBuilt(t, err)
	c := startLab(t, clusterlab.Config{Nodes: []string{"kubelet", "podkeel"}})
	admin, err := c.Admin()
	require.NoError(t, err)
	sides := []*auditSide{newKubeletSide(c), newPodkeelSide(t, c)}
	for _, s := range sides {
		s.lab, s.admin, s.kubectl = c, admin, newKubectl(t, c)
	}
	play := func(t *testing.T, name string, story func(*player)) {
		for _, s := range sides {
			t.Run(name+"/"+s.node, func(t *testing.T) {
				t.Parallel()
				story(&player{auditSide: s, T: t, story: name})
			})
		}
	}
	from := 0
	window := func(story string) { from = compareTranscripts(t, sides, story, from) }
	t.Cleanup(func() {
		for _, s := range sides {
			s.stop()
		}
	})
	t.Run("register", func(t *testing.T) {
		play(t, "node-registers", func(p *player) {
			p.start(p.T)
			p.waitForNodeReady()
		})
	})
	require.False(t, t.Failed(), "both nodes have started")
	time.Sleep(settle)
	window("node-registers")
	before := from
	t.Run("pods", func(t *testing.T) {
		for _, story := range stories {
			play(t, story.name, story.play)
		}
	})
	time.Sleep(settle)
	for _, story := range stories {
		from = before
		window(story.name)
	}
	for _, story := range nodeStories {
		t.Run("node", func(t *testing.T) { play(t, story.name, story.play) })
		time.Sleep(settle)
		window(story.name)
	}
}

// TestAudit_NotStarted: a node whose start has failed can be stopped.
func TestAudit_NotStarted(t *testing.T) {
	newKubeletSide(nil).stop()
	newPodkeelSide(t, nil).stop()
}
