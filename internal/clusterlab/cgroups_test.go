//go:build linux

package clusterlab_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podkeel/podkeel/runtime/cri"
)

const (
	// cgroupsPage has the table of all files and the table of differences.
	cgroupsPage = "CGROUPS.md"
	// maxPIDs is the limit of processes of each pod, on both nodes.
	maxPIDs = 1000
	// resizeTimings is how many resizes TestCgroups measures on each node.
	resizeTimings = 7
	// maxResizeRatio bounds the shortest time of a resize, divided by the kubelet's. Other work of the machine only adds
	// to a time, so the shortest ones are compared. Most of both is the same update by containerd.
	maxResizeRatio = 1.25
)

// cgroupContest is a contest about the cgroups of the same pods on both nodes.
type cgroupContest struct {
	*contest
	kubeletRoot string
	rows        []cgroupRow
	found       []cgroupDifference
	files       []string // the rows of the table of files
}

// newCgroupContest starts both nodes with cgroups of pods. It skips the test on a host without cgroup v1.
func newCgroupContest(t *testing.T) *cgroupContest {
	if _, err := os.Stat(cgroupMounts + "/memory/memory.limit_in_bytes"); err != nil {
		t.Skip("the table is about cgroup v1: ", err)
	}
	if !*cluster {
		t.Skip("no control plane without -cluster")
	}
	root := fmt.Sprintf("/podkeel-kubelet-%d", os.Getpid())
	require.NoError(t, createCgroup(root))
	t.Cleanup(func() { removeCgroupTree(root) })
	text, err := os.ReadFile(cgroupsPage)
	require.NoError(t, err)
	return &cgroupContest{
		contest: newContest(t, contestConfig{
			cgroupRoot: root, maxPIDs: maxPIDs, flags: []string{"--cgroups-per-qos", "true", "--pod-max-pids", fmt.Sprint(maxPIDs)},
		}),
		kubeletRoot: root + "/kubepods", rows: parseCgroupRows(string(text)),
	}
}

// document is one pod of a file in testdata/cgroups, or one patch for a pod.
type document struct {
	v1.Pod
	spec json.RawMessage
}

// readDocuments reads a file with several documents.
func readDocuments(t *testing.T, name string) (all []document) {
	f, err := os.Open(filepath.Join("testdata", "cgroups", name))
	require.NoError(t, err)
	defer f.Close()
	for decoder := yaml.NewYAMLToJSONDecoder(f); ; {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		var d document
		var spec struct{ Spec json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &d.Pod))
		require.NoError(t, json.Unmarshal(raw, &spec))
		d.spec = spec.Spec
		all = append(all, d)
	}
}

// nodesOfContest are the nodes that are compared.
var nodesOfContest = []string{oursNode, kubeletNode}

// createPods creates the pods on both nodes. A name has the node as a suffix.
func (c *cgroupContest) createPods(all []document) {
	for _, d := range all {
		for _, node := range nodesOfContest {
			pod := d.Pod.DeepCopy()
			frame := c.makePod(node, pod.Name+"-"+node, false)
			frame.Labels = pod.Labels
			command := frame.Spec.Containers[0]
			containers, inits := pod.Spec.Containers, pod.Spec.InitContainers
			frame.Spec.Resources, frame.Spec.Containers, frame.Spec.InitContainers = pod.Spec.Resources, containers, inits
			frame.Spec.RuntimeClassName, frame.Spec.PriorityClassName = pod.Spec.RuntimeClassName, pod.Spec.PriorityClassName
			for _, list := range [][]v1.Container{inits, containers} {
				for i := range list {
					list[i].Image, list[i].ImagePullPolicy, list[i].Command = command.Image, command.ImagePullPolicy, command.Command
				}
			}
			for i := range inits {
				if inits[i].RestartPolicy == nil {
					inits[i].Command = []string{"true"}
				}
			}
			_, err := c.admin.Create(c.Context(), frame)
			require.NoError(c, err)
		}
	}
}

// readTrees reads the cgroups of both nodes.
func (c *cgroupContest) readTrees() (ours, kubelet cgroupTree) {
	owner, err := cri.OwnerFile(filepath.Join(c.containerd[oursNode].Dir, "node"))
	require.NoError(c, err)
	trees := map[string]cgroupTree{}
	for node, root := range map[string]string{oursNode: "/podkeel-" + owner, kubeletNode: c.kubeletRoot} {
		objects, err := readObjects(c.containerd[node], "-"+node)
		require.NoError(c, err)
		trees[node], err = readCgroupTree(root, objects.names)
		require.NoError(c, err)
		trees[node].addProcesses(root, objects.names)
		trees[node].addRequests(objects.requested)
	}
	return trees[oursNode], trees[kubeletNode]
}

// compareCgroups compares the cgroups of both nodes until the table explains each difference, or for some seconds. It logs
// each unexplained difference and fails the test.
func (c *cgroupContest) compareCgroups(when string) {
	c.Helper()
	var all, rest []cgroupDifference
	var ours, kubelet map[string]map[string]string
	for began := time.Now(); ; c.sleepFor(time.Second) {
		a, b := c.readTrees()
		ours, kubelet = plainTree(a), plainTree(b)
		all = compareTrees(when, ours, kubelet)
		if rest = unexplainedDifferences(c.rows, all); len(rest) == 0 || time.Since(began) > 15*time.Second {
			break
		}
	}
	compared := 0
	for _, values := range ours {
		compared += len(values)
	}
	c.Logf("%s: %d values of %d cgroups compared, %d differ", when, compared, len(ours), len(all))
	require.Greater(c, len(ours), 80, "cgroups of all pods")
	for _, d := range rest {
		c.Errorf("%s has no row with a reason:\n%s", cgroupsPage, d)
	}
	c.found = append(c.found, all...)
	c.files = fileRows(ours, kubelet, c.found)
}

// plainTree converts a tree to plain maps.
func plainTree(tree cgroupTree) map[string]map[string]string {
	plain := map[string]map[string]string{}
	for name, values := range tree {
		plain[name] = values
	}
	return plain
}

// checkTables fails the test if a row explains no difference, or if the table of files has another result for a
// file. With -rewrite it writes the table of files, and the new differences without a reason.
func (c *cgroupContest) checkTables() {
	text, err := os.ReadFile(cgroupsPage)
	require.NoError(c, err)
	var files []string
	for line := range strings.Lines(string(text)) {
		if columns := splitRow(line); len(columns) == 3 && columns[0] != "file" && !strings.HasPrefix(columns[0], "---") {
			files = append(files, strings.TrimSpace(line))
		}
	}
	if isRewriting() {
		page := strings.Replace(string(text), strings.Join(files, "\n"), strings.Join(c.files, "\n"), 1)
		for _, d := range unexplainedDifferences(c.rows, c.found) {
			page += d.String() + "\n"
		}
		require.NoError(c, os.WriteFile(cgroupsPage, []byte(page), 0o644))
		return
	}
	for _, row := range unusedRows(c.rows, c.found) {
		c.Errorf("%s has a row without a difference:\n%s", cgroupsPage, row)
	}
	for _, row := range changedFileRows(files, c.files) {
		c.Errorf("%s has another row for this file; go test -run '^TestCgroups$' -cluster -rewrite writes the table again:\n%s", cgroupsPage, row)
	}
}

// resizePods sends the same patches to the pods of both nodes.
func (c *cgroupContest) resizePods(all []document) {
	for _, d := range all {
		for _, node := range nodesOfContest {
			err := c.admin.PatchResize(c.Context(), "default", d.Name+"-"+node, fmt.Appendf(nil, `{"spec":%s}`, d.spec))
			require.NoError(c, err, "%s on %s", d.Name, sideName(node))
		}
	}
}

// awaitResized waits until the node has reported that it has finished the resize of each pod.
func (c *cgroupContest) awaitResized(all []document) {
	for _, d := range all {
		for _, node := range nodesOfContest {
			var pod *v1.Pod
			require.Eventually(c, func() bool {
				pod = c.getPod(d.Name, node)
				return pod.Status.ObservedGeneration == pod.Generation && !slices.ContainsFunc(pod.Status.Conditions, func(condition v1.PodCondition) bool {
					return condition.Type == v1.PodResizeInProgress || condition.Type == v1.PodResizePending
				}) && isReadyPod(pod)
			}, joinLimit, 50*time.Millisecond, "%s on %s is not resized", d.Name, sideName(node))
		}
	}
}

func (c *cgroupContest) getPod(name, node string) *v1.Pod {
	o, err := c.admin.Get(c.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-" + node}})
	require.NoError(c, err)
	return o.(*v1.Pod)
}

func isReadyPod(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition v1.PodCondition) bool {
		return condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue
	})
}

// measureResizes resizes one pod on each node in turns, and compares the time from the patch to the files of the
// container.
func (c *cgroupContest) measureResizes(name, container string) {
	quota, memory := map[string]string{}, map[string]string{}
	for _, node := range nodesOfContest {
		id := ""
		for _, status := range c.getPod(name, node).Status.ContainerStatuses {
			if status.Name == container {
				id = status.ContainerID[strings.LastIndex(status.ContainerID, "/")+1:]
			}
		}
		quota[node], memory[node] = findCgroupFile(c.T, "cpu", id, "cpu.cfs_quota_us"), findCgroupFile(c.T, "memory", id, "memory.limit_in_bytes")
	}
	took := map[string][]time.Duration{}
	for i := range resizeTimings {
		milli, mega := 200+10*i, 100+10*((i+1)%2*10+i) // The memory falls and rises.
		for _, node := range nodesOfContest {
			patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":%q,"resources":{"limits":{"cpu":"%dm","memory":"%dMi"}}}]}}`, container, milli, mega)
			began := time.Now()
			require.NoError(c, c.admin.PatchResize(c.Context(), "default", name+"-"+node, patch))
			c.awaitFile(quota[node], fmt.Sprint(milli*100))
			c.awaitFile(memory[node], fmt.Sprint(mega<<20))
			took[node] = append(took[node], time.Since(began).Round(100*time.Microsecond))
			c.sleepFor(300 * time.Millisecond)
		}
	}
	c.Log("from the patch to the files of the container, ours:", formatMedian(took[oursNode]), "load", readLoad())
	c.Log("from the patch to the files of the container, kubelet:", formatMedian(took[kubeletNode]))
	ratio := float64(slices.Min(took[oursNode])) / float64(slices.Min(took[kubeletNode]))
	c.Logf("shortest time, ours divided by the kubelet's: %.2f", ratio)
	assert.LessOrEqual(c, ratio, maxResizeRatio, "a resize takes longer than the kubelet's")
}

// findCgroupFile returns the path of a file of a container's cgroup.
func findCgroupFile(t *testing.T, hierarchy, id, file string) string {
	for _, depth := range []string{"*/*", "*/*/*", "*/*/*/*"} {
		if found, _ := filepath.Glob(filepath.Join(cgroupMounts, hierarchy, depth, id, file)); len(found) == 1 {
			return found[0]
		}
	}
	require.Fail(t, "the container has no cgroup", "%s %s", hierarchy, id)
	return ""
}

// awaitFile waits until a file has a content.
func (c *cgroupContest) awaitFile(path, want string) {
	for late := time.Now().Add(joinLimit); ; c.sleepFor(time.Millisecond) {
		text, err := os.ReadFile(path)
		require.NoError(c, err)
		if strings.TrimSpace(string(text)) == want {
			return
		}
		require.True(c, time.Now().Before(late), "%s is %s and not %s", path, text, want)
	}
}

// TestCgroups: the same pods on this library and on a kubelet have the same cgroups, except for the differences in
// CGROUPS.md, when they run and after they were resized. A resize reaches the files of a container as fast as the kubelet's.
func TestCgroups(t *testing.T) {
	c := newCgroupContest(t)
	_, err := c.admin.Create(t.Context(), &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "overhead"}, Handler: "runc",
		Overhead: &nodev1.Overhead{PodFixed: v1.ResourceList{v1.ResourceCPU: resource.MustParse("30m"), v1.ResourceMemory: resource.MustParse("20Mi")}},
	})
	require.NoError(t, err)
	pods, patches := readDocuments(t, "pods.yaml"), readDocuments(t, "resizes.yaml")
	c.createPods(pods)
	refused := func(d document) bool { return d.Labels["refused"] != "" }
	for _, d := range pods {
		if refused(d) {
			c.awaitRefused(d.Name)
		}
	}
	pods = slices.DeleteFunc(pods, refused)
	c.awaitResized(pods) // They are ready, and no resize is pending.
	c.compareCgroups("start")

	c.resizePods(patches)
	c.awaitResized(patches)
	c.createPods([]document{{Pod: v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "last"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web"}}}}}})
	c.awaitResized([]document{{Pod: v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "last"}}}}) // The kubelet then writes the shares of the QoS classes.
	c.compareCgroups("resized")
	c.measureResizes("limits", "web")
	c.checkTables()
}

// awaitRefused waits until both nodes have refused a pod, for the same reason.
func (c *cgroupContest) awaitRefused(name string) {
	reasons := map[string]string{}
	for _, node := range nodesOfContest {
		require.Eventually(c, func() bool {
			pod := c.getPod(name, node)
			reasons[node] = pod.Status.Reason
			return pod.Status.Phase == v1.PodFailed
		}, joinLimit, 50*time.Millisecond, "%s on %s is not refused", name, sideName(node))
	}
	assert.Equal(c, reasons[kubeletNode], reasons[oursNode], "the reason of %s", name)
}
