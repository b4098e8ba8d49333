package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// The nodes that can run the specs.
const (
	nodePodkeel = "podkeel"
	nodeKubelet = "kubelet"
)

// kubeletConfig has the fields of a KubeletConfiguration that become flags of examples/cluster.
type kubeletConfig struct {
	StaticPodPath                    string            `json:"staticPodPath"`
	ClusterDomain                    string            `json:"clusterDomain"`
	PodPidsLimit                     *int64            `json:"podPidsLimit"`
	MaxPods                          int               `json:"maxPods"`
	EvictionHard                     map[string]string `json:"evictionHard"`
	EvictionSoft                     map[string]string `json:"evictionSoft"`
	EvictionSoftGracePeriod          map[string]string `json:"evictionSoftGracePeriod"`
	EvictionMinimumReclaim           map[string]string `json:"evictionMinimumReclaim"`
	EvictionPressureTransitionPeriod string            `json:"evictionPressureTransitionPeriod"`
	EvictionMaxPodGracePeriod        int64             `json:"evictionMaxPodGracePeriod"`
	KubeReserved                     map[string]string `json:"kubeReserved"`
	SystemReserved                   map[string]string `json:"systemReserved"`
}

// baseConfig is the file from which the suite makes the configuration of the kubelet. Its settings are the ones in
// test/e2e_node/jenkins, with smaller thresholds of disks, because other work fills the disk of the machine. It also permits
// cgroup v1 and has the cluster domain that specs about host names expect.
const baseConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
podCIDR: ` + podSubnet + `
clusterDomain: cluster.local
volumeStatsAggPeriod: 10s
fileCheckFrequency: 10s
evictionPressureTransitionPeriod: 30s
evictionHard:
  memory.available: 250Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
evictionMinimumReclaim:
  nodefs.available: 1%
  nodefs.inodesFree: 1%
serializeImagePulls: false
`

// startNode starts the node of the run. args are the arguments that the suite gives to a kubelet.
func (r *isolatedRun) startNode(args []string, dir string) (*process, error) {
	log := filepath.Join(r.Dir, "logs", "node.log")
	if r.Node == nodeKubelet {
		return startProcess(dir, log, nil, filepath.Join(r.Programs.Suite, "kubelet"), args...)
	}
	flags := parseFlags(args)
	text, err := os.ReadFile(flags["config"])
	if err != nil {
		return nil, err
	}
	var config kubeletConfig
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", flags["config"], err)
	}
	if err := r.front.useKubeconfig(flags["kubeconfig"]); err != nil {
		return nil, err
	}
	return startProcess(dir, log, nil, r.Programs.Agent, agentArguments(flags, config)...)
}

// parseFlags returns the flags of a kubelet by name. A flag is one argument with "=", or two.
func parseFlags(args []string) map[string]string {
	flags := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, found := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !found && i+1 < len(args) {
			i++
			value = args[i]
		}
		flags[name] = value
	}
	return flags
}

// agentArguments returns the arguments of examples/cluster for the flags and the configuration of a kubelet.
func agentArguments(flags map[string]string, config kubeletConfig) []string {
	args := []string{
		"--kubeconfig=" + flags["kubeconfig"], "--hostname-override=" + flags["hostname-override"], "--runtime=cri",
		"--container-runtime-endpoint=" + flags["container-runtime-endpoint"], "--root-dir=" + flags["root-dir"],
		"--address=127.0.0.1", "--node-ip=" + nodeIP, "--pod-manifest-path=" + config.StaticPodPath,
	}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("cluster-domain", config.ClusterDomain)
	if config.MaxPods > 0 {
		add("max-pods", strconv.Itoa(config.MaxPods))
	}
	if config.PodPidsLimit != nil && *config.PodPidsLimit != 0 {
		add("pod-max-pids", strconv.FormatInt(*config.PodPidsLimit, 10))
	}
	add("kube-reserved", joinSettings(config.KubeReserved, "="))
	add("system-reserved", joinSettings(config.SystemReserved, "="))
	args = append(args, "--eviction-hard="+joinSettings(config.EvictionHard, "<"))
	add("eviction-soft", joinSettings(config.EvictionSoft, "<"))
	add("eviction-soft-grace-period", joinSettings(config.EvictionSoftGracePeriod, "="))
	add("eviction-minimum-reclaim", joinSettings(config.EvictionMinimumReclaim, "="))
	if config.EvictionPressureTransitionPeriod != "0s" {
		add("eviction-pressure-transition-period", config.EvictionPressureTransitionPeriod)
	}
	if config.EvictionMaxPodGracePeriod != 0 {
		add("eviction-max-pod-grace-period", strconv.FormatInt(config.EvictionMaxPodGracePeriod, 10))
	}
	return args
}

// joinSettings returns the settings of a map as a flag has them.
func joinSettings(settings map[string]string, operator string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		parts = append(parts, name+operator+settings[name])
	}
	return strings.Join(parts, ",")
}
