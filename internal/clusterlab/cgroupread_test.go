//go:build linux

package clusterlab_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// cgroupMounts has the hierarchies of cgroup v1.
const cgroupMounts = "/sys/fs/cgroup"

// comparedHierarchies are the hierarchies whose files are compared. A hierarchy that the machine does not have is left
// out.
var comparedHierarchies = []string{"cpu", "memory", "pids", "cpuset", "hugetlb"}

// settings are values by name: the settings of one cgroup by the names of the files, or values that a runtime has got.
type settings map[string]string

// cgroupTree has the settings of each cgroup of a node. The name of a cgroup is its path, with the names of pods and
// containers instead of UIDs and IDs, for example "root/burstable/limits/web".
type cgroupTree map[string]settings

// readCgroupTree reads the cgroups below a root. names translates elements of their paths. Cgroups that disappear
// meanwhile are left out.
func readCgroupTree(root string, names map[string]string) (cgroupTree, error) {
	tree := cgroupTree{}
	for _, hierarchy := range comparedHierarchies {
		top := filepath.Join(cgroupMounts, hierarchy, root)
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case entry.IsDir():
				return nil
			}
			value, isSetting := readSetting(path)
			if !isSetting {
				return nil
			}
			name := translatePath("root"+strings.TrimPrefix(filepath.Dir(path), top), names)
			if tree[name] == nil {
				tree[name] = settings{}
			}
			file := entry.Name()
			if !strings.HasPrefix(file, hierarchy+".") {
				file = hierarchy + "/" + file
			}
			tree[name][file] = value
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// translatePath replaces the elements of a path that have a name.
func translatePath(path string, names map[string]string) string {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		elements[i] = cmp.Or(names[element], element)
	}
	return strings.Join(elements, "/")
}

// counters are the suffixes of files that can be read and written and hold no setting: writing resets a counter, or
// moves processes.
var counters = []string{".failcnt", ".max_usage_in_bytes", "cgroup.procs", "tasks", "cgroup.threads"}

// readSetting returns the content of a cgroup file in one line. It returns false for a file that holds no setting,
// because it cannot be both read and written.
func readSetting(path string) (value string, isSetting bool) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o600 != 0o600 || slices.ContainsFunc(counters, func(suffix string) bool { return strings.HasSuffix(path, suffix) }) {
		return "", false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if filepath.Base(path) == "memory.oom_control" {
		lines = lines[:1] // The lines after oom_kill_disable are counters.
	}
	return cmp.Or(strings.Join(lines, ", "), "empty"), true
}

// addProcesses adds the oom_score_adj of the first process of each cgroup.
func (tree cgroupTree) addProcesses(root string, names map[string]string) {
	top := filepath.Join(cgroupMounts, "pids", root)
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error { // A cgroup may disappear.
		if err != nil || entry.Name() != "cgroup.procs" {
			return nil
		}
		text, err := os.ReadFile(path)
		if pid, _, _ := strings.Cut(string(text), "\n"); err == nil && pid != "" {
			score, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
			name := translatePath("root"+strings.TrimPrefix(filepath.Dir(path), top), names)
			if err == nil && tree[name] != nil {
				tree[name]["oom_score_adj of the first process"] = strings.TrimSpace(string(score))
			}
		}
		return nil
	})
}

// addRequests adds the Linux resources that the runtime has got for each container and sandbox when it was created.
func (tree cgroupTree) addRequests(requested map[string]settings) {
	for name, values := range tree {
		for key, value := range requested[filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)] {
			values[key] = value
		}
	}
}

// nodeObjects are the pods and containers of a containerd: names by an element of a cgroup's path, and what was
// requested for each container, by the names of its pod and itself.
type nodeObjects struct {
	names     map[string]string
	requested map[string]settings
}

// sandboxName is the name of the container of a sandbox. No container of a pod may have it.
const sandboxName = "(sandbox)"

// readObjects lists the running containers and sandboxes of a containerd. suffix is cut from the names of pods.
func readObjects(c *e2e.Containerd, suffix string) (nodeObjects, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, objects := cri.NewRuntimeServiceClient(c.Conn()), nodeObjects{map[string]string{}, map[string]settings{}}
	sandboxes, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}}})
	if err != nil {
		return objects, err
	}
	podOf := map[string]string{}
	for _, sandbox := range sandboxes.Items {
		pod := strings.TrimSuffix(sandbox.Metadata.Name, suffix)
		podOf[sandbox.Id] = pod
		objects.names["pod"+sandbox.Metadata.Uid], objects.names[sandbox.Id] = pod, sandboxName
		status, err := client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox.Id, Verbose: true})
		if err != nil {
			return objects, err
		}
		if objects.requested[pod+"/"+sandboxName], err = requestedSettings(status.Info["info"]); err != nil {
			return objects, err
		}
	}
	containers, err := client.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}}})
	if err != nil {
		return objects, err
	}
	for _, container := range containers.Containers {
		objects.names[container.Id] = container.Metadata.Name
		status, err := client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: container.Id, Verbose: true})
		if err != nil {
			return objects, err
		}
		if objects.requested[podOf[container.PodSandboxId]+"/"+container.Metadata.Name], err = requestedSettings(status.Info["info"]); err != nil {
			return objects, err
		}
	}
	return objects, nil
}

// requestedSettings returns the Linux resources in the verbose information of a container or sandbox.
func requestedSettings(info string) (settings, error) {
	var parsed struct {
		Config struct {
			Linux struct {
				Resources, Overhead map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(info), &parsed); err != nil {
		return nil, err
	}
	all := settings{}
	for prefix, values := range map[string]map[string]any{"CRI resources.": parsed.Config.Linux.Resources, "CRI overhead.": parsed.Config.Linux.Overhead} {
		for key, value := range values {
			if number, ok := value.(float64); ok {
				value = strconv.FormatFloat(number, 'f', -1, 64)
			}
			all[prefix+key] = fmt.Sprint(value)
		}
	}
	return all, nil
}

// removeCgroupTree removes the cgroups below a root in each hierarchy. Errors are ignored: a cgroup with a process
// stays.
func removeCgroupTree(root string) {
	mounts, _ := filepath.Glob(cgroupMounts + "/*")
	for _, mount := range mounts {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(mount, root), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			_ = os.Remove(dir)
		}
	}
}

// createCgroup creates a cgroup in each hierarchy that can have one.
func createCgroup(root string) error {
	mounts, err := filepath.Glob(cgroupMounts + "/*/cgroup.procs")
	for _, file := range mounts {
		err = errors.Join(err, os.MkdirAll(filepath.Join(filepath.Dir(file), root), 0o755))
	}
	return err
}
