package eviction_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// node is a node for stories: it performs each decision, so that a victim terminates with its grace period.
type node struct {
	settings eviction.Settings
	policy   eviction.Policy
	history  eviction.History
	observed eviction.Observations
	now      time.Time
	pods     map[string]*eviction.Pod
}

func newNode() *node {
	return &node{now: start, pods: map[string]*eviction.Pod{}, observed: eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}}
}

// do performs one command and returns its transcript.
func (n *node) do(line string) (string, error) {
	words := strings.Fields(line)
	args := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		args[k] = v
	}
	switch words[0] {
	case "hard", "soft", "soft-grace", "reclaim":
		separator := "<"
		if words[0] != "hard" && words[0] != "soft" {
			separator = "="
		}
		settings, err := eviction.ParseSettings(strings.Join(words[1:], ","), separator)
		if err != nil {
			return "", err
		}
		*map[string]*map[string]string{"hard": &n.settings.Hard, "soft": &n.settings.Soft, "soft-grace": &n.settings.SoftGracePeriod, "reclaim": &n.settings.MinimumReclaim}[words[0]] = settings
		return "", nil
	case "policy":
		n.policy.MaxPodGraceSeconds, _ = strconv.ParseInt(args["max-grace"], 10, 64)
		n.policy.TransitionPeriod, _ = time.ParseDuration(args["transition"])
	case "layout":
		n.observed.Layout = map[string]eviction.Layout{"one": eviction.OneFilesystem, "dedicated": eviction.DedicatedImages, "split": eviction.SplitImages}[words[1]]
	case "pod":
		p := eviction.NewPod(newPod(words[1], args))
		p.Usage.Measured = true
		n.pods[words[1]] = &p
	case "use":
		return "", n.use(words[1], args)
	case "terminating":
		d, err := time.ParseDuration(args["in"])
		n.pods[words[1]].Terminating, n.pods[words[1]].StopBy = true, n.now.Add(d)
		return "", err
	case "stopped":
		n.pods[words[1]].Stopped = true
	case "gone":
		delete(n.pods, words[1])
	case "after":
		d, err := time.ParseDuration(words[1])
		n.now = n.now.Add(d)
		return "", err
	case "observe":
		for name, text := range args {
			available, capacity, _ := strings.Cut(text, "/")
			n.observed.Signals[eviction.Signal(name)] = eviction.Observation{Available: value(available), Capacity: value(capacity), Time: n.now}
		}
	case "forget":
		delete(n.observed.Signals, eviction.Signal(words[1]))
	case "pass":
		return n.pass()
	case "rank":
		return n.rank(eviction.Signal(words[1])), nil
	case "admit":
		pod := newPod(words[1], args)
		conditions := []v1.NodeConditionType{}
		for _, c := range strings.Split(args["conditions"], ",") {
			conditions = append(conditions, v1.NodeConditionType(c))
		}
		if admit, message := eviction.CheckAdmission(pod, conditions); !admit {
			return "rejected: " + message, nil
		}
		return "admitted", nil
	default:
		return "", fmt.Errorf("unknown command %q", words[0])
	}
	return "", nil
}

// use sets the usage of a pod: mem and pids of the pod; layer, logs and inodes of its container main; other names
// with a prefix are "NAME.layer", "NAME.logs" and "vol.NAME". The flag incomplete makes its local storage lower bounds.
func (n *node) use(name string, args map[string]string) error {
	p, ok := n.pods[name]
	if !ok {
		return fmt.Errorf("no pod %q", name)
	}
	u := eviction.Usage{Measured: true}
	if _, unknown := args["unknown"]; unknown {
		u.Measured = false
	}
	_, u.StorageIncomplete = args["incomplete"]
	containers := map[string]*eviction.ContainerUsage{}
	container := func(name string) *eviction.ContainerUsage {
		if containers[name] == nil {
			containers[name] = &eviction.ContainerUsage{Name: name}
		}
		return containers[name]
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if args[key] == "" {
			continue // A flag.
		}
		figure := new(uint64(value(args[key])))
		owner, what, ok := strings.Cut(key, ".")
		if !ok {
			owner, what = "main", key
		}
		switch {
		case owner == "vol":
			u.Volumes = append(u.Volumes, eviction.VolumeUsage{Name: what, DiskUsage: eviction.DiskUsage{Bytes: figure}})
		case what == "mem":
			u.MemoryBytes = figure
			container(owner).MemoryBytes = figure
		case what == "pids":
			u.Processes = figure
		case what == "layer":
			container(owner).Layer.Bytes = figure
		case what == "logs":
			container(owner).Logs.Bytes = figure
		case what == "inodes":
			container(owner).Layer.Inodes = figure
		case what == "hosts":
			u.Other.Bytes = figure
		}
	}
	for _, name := range slices.Sorted(maps.Keys(containers)) {
		u.Containers = append(u.Containers, *containers[name])
	}
	p.Usage = u
	return nil
}

func (n *node) list() (pods []eviction.Pod) {
	for _, name := range slices.Sorted(maps.Keys(n.pods)) {
		pods = append(pods, *n.pods[name])
	}
	return pods
}

// pass decides, lets the victims terminate, and returns the decision as text.
func (n *node) pass() (string, error) {
	thresholds, err := n.settings.Thresholds()
	if err != nil {
		return "", err
	}
	n.policy.Thresholds = thresholds
	d := n.policy.Decide(n.history, n.observed, n.list(), n.now)
	n.history = d.NextHistory
	var b strings.Builder
	if len(d.Conditions) > 0 {
		fmt.Fprintf(&b, "  conditions %v\n", d.Conditions)
	}
	if len(d.Unobserved) > 0 {
		fmt.Fprintf(&b, "  unobserved %v\n", d.Unobserved)
	}
	if len(d.Reclaim) > 0 {
		fmt.Fprintf(&b, "  reclaim %v for %s\n", d.Reclaim, d.Acting.Signal)
	}
	for _, v := range d.Victims {
		p := n.pods[string(v.UID)]
		text := "evict"
		if v.Shortens {
			text = "shorten"
		}
		fmt.Fprintf(&b, "  %s %s grace=%ds cause=%s disruption-target=%t\n    %q\n", text, v.UID, v.GraceSeconds, v.Cause, v.Condition != nil, v.Message)
		for _, key := range slices.Sorted(maps.Keys(v.Annotations)) {
			fmt.Fprintf(&b, "    %s: %s\n", key, v.Annotations[key])
		}
		p.Terminating, p.StopBy = true, n.now.Add(time.Duration(v.GraceSeconds)*time.Second)
	}
	if d.Acting != nil && len(d.Reclaim)+len(d.Victims) == 0 {
		fmt.Fprintf(&b, "  no pod can be evicted for %s\n", d.Acting.Signal)
	}
	fmt.Fprintf(&b, "  next pass in %s", d.NextAt.Sub(n.now))
	return "\n" + b.String(), nil
}

func (n *node) rank(s eviction.Signal) string {
	pods := n.list()
	var names []string
	for _, i := range eviction.Rank(s, n.observed.Layout, pods) {
		names = append(names, pods[i].Pod().Name)
	}
	return strings.Join(names, " ")
}

func value(text string) int64 {
	if text == "" {
		return 0
	}
	q := resource.MustParse(text)
	return q.Value()
}

// newPod makes a pod with the container main. mem and disk are requests of main, disk-limit a limit; init-limit and
// side-limit make an init container and a sidecar with limits of ephemeral storage; dir is the size limit of the
// emptyDir data, tmp is the size limit of the emptyDir tmp in memory; pod-mem is a request of the pod itself.
func newPod(name string, args map[string]string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Annotations: map[string]string{}}}
	list := func(name v1.ResourceName, key string) v1.ResourceList {
		if args[key] == "" {
			return nil
		}
		return v1.ResourceList{name: resource.MustParse(args[key])}
	}
	main := v1.Container{Name: "main", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{}, Limits: list(v1.ResourceEphemeralStorage, "disk-limit"),
	}}
	maps.Copy(main.Resources.Requests, list(v1.ResourceMemory, "mem"))
	maps.Copy(main.Resources.Requests, list(v1.ResourceEphemeralStorage, "disk"))
	pod.Spec.Containers = []v1.Container{main}
	if _, ok := args["second"]; ok {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "second"})
	}
	if l := list(v1.ResourceEphemeralStorage, "init-limit"); l != nil {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "init", Resources: v1.ResourceRequirements{Limits: l}})
	}
	if l := list(v1.ResourceEphemeralStorage, "side-limit"); l != nil {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "side", RestartPolicy: new(v1.ContainerRestartPolicyAlways), Resources: v1.ResourceRequirements{Limits: l}})
	}
	if l := list(v1.ResourceMemory, "pod-mem"); l != nil {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: l}
	}
	for key, medium := range map[string]v1.StorageMedium{"dir": "", "tmp": v1.StorageMediumMemory} {
		if text, ok := args[key]; ok {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: key, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium, SizeLimit: new(resource.MustParse(text))}}})
		}
	}
	if _, ok := args["host"]; ok {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}})
	}
	if text, ok := args["prio"]; ok {
		pod.Spec.Priority = new(int32(value(text)))
	}
	if text, ok := args["grace"]; ok {
		pod.Spec.TerminationGracePeriodSeconds = new(value(text))
	}
	if _, ok := args["static"]; ok {
		pod.Annotations["kubernetes.io/config.source"] = "file"
	}
	if _, ok := args["mirror"]; ok {
		pod.Annotations["kubernetes.io/config.mirror"] = "x"
	}
	if key, ok := args["tolerates"]; ok {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "node.kubernetes.io/" + key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	}
	return pod
}
