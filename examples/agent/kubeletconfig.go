package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

// maxConfigSize is the maximum size of a configuration file.
const maxConfigSize = 1 << 20

// kubeletConfig has the fields of a KubeletConfiguration that have an effect on an agent of static pods.
type kubeletConfig struct {
	APIVersion               string              `json:"apiVersion"`
	Kind                     string              `json:"kind"`
	StaticPodPath            string              `json:"staticPodPath"`
	StaticPodURL             string              `json:"staticPodURL"`
	StaticPodURLHeader       map[string][]string `json:"staticPodURLHeader"`
	SyncFrequency            string              `json:"syncFrequency"`
	FileCheckFrequency       string              `json:"fileCheckFrequency"`
	HTTPCheckFrequency       string              `json:"httpCheckFrequency"`
	EnableServer             *bool               `json:"enableServer"`
	Address                  string              `json:"address"`
	Port                     int32               `json:"port"`
	MaxPods                  int32               `json:"maxPods"`
	RegisterNode             bool                `json:"registerNode"`
	RegisterWithTaints       []v1.Taint          `json:"registerWithTaints"`
	CgroupDriver             string              `json:"cgroupDriver"`
	ContainerRuntimeEndpoint string              `json:"containerRuntimeEndpoint"`
	PodLogsDir               string              `json:"podLogsDir"`
	ContainerLogMaxSize      string              `json:"containerLogMaxSize"`
	ContainerLogMaxFiles     int32               `json:"containerLogMaxFiles"`
	ImageMinimumGCAge        string              `json:"imageMinimumGCAge"`
	ImageMaximumGCAge        string              `json:"imageMaximumGCAge"`
	ImageGCHigh              int32               `json:"imageGCHighThresholdPercent"`
	ImageGCLow               int32               `json:"imageGCLowThresholdPercent"`
	SerializeImagePulls      bool                `json:"serializeImagePulls"`
	MaxParallelImagePulls    int32               `json:"maxParallelImagePulls"`
	AllowedUnsafeSysctls     []string            `json:"allowedUnsafeSysctls"`
	ClusterDNS               []string            `json:"clusterDNS"`
	ClusterDomain            string              `json:"clusterDomain"`
	ResolvConf               string              `json:"resolvConf"`
	EvictionHard             map[string]string   `json:"evictionHard"`
	EvictionSoft             map[string]string   `json:"evictionSoft"`
	EvictionSoftGracePeriod  map[string]string   `json:"evictionSoftGracePeriod"`
	EvictionMinimumReclaim   map[string]string   `json:"evictionMinimumReclaim"`
	EvictionTransition       string              `json:"evictionPressureTransitionPeriod"`
	EvictionMaxPodGrace      int32               `json:"evictionMaxPodGracePeriod"`
	SystemReserved           map[string]string   `json:"systemReserved"`
	KubeReserved             map[string]string   `json:"kubeReserved"`
	KernelNotification       bool                `json:"kernelMemcgNotification"`
	MergeDefaultEviction     bool                `json:"mergeDefaultEvictionSettings"`
	CrashLoopBackOff         struct {
		Max string `json:"maxContainerRestartPeriod"`
	} `json:"crashLoopBackOff"`
}

// kubeletOnlyFields are the fields of a KubeletConfiguration that have an effect on a kubelet only.
const kubeletOnlyFields = `authentication authorization cgroupRoot cgroupsPerQOS
	configMapAndSecretChangeDetectionStrategy containerLogMaxWorkers containerLogMonitorInterval contentType
	cpuCFSQuota cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod
	defaultPodSysctls
	enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
	enableProfilingHandler enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst
	eventRecordQPS failCgroupV1 failSwapOn featureGates hairpinMode healthzBindAddress
	healthzPort imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
	kubeAPIBurst kubeAPIQPS kubeReservedCgroup kubeletCgroups
	localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles memoryManagerPolicy
	memoryReservationPolicy memorySwap memoryThrottlingFactor nodeLeaseDurationSeconds
	nodeStatusMaxImages nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj podCIDR podPidsLimit
	podsPerCore preloadedImagesVerificationAllowlist protectKernelDefaults providerID qosReserved readOnlyPort
	registryBurst registryPullQPS reservedMemory reservedSystemCPUs rotateCertificates runOnce
	runtimeRequestTimeout seccompDefault serverTLSBootstrap showHiddenMetricsForVersion shutdownGracePeriod
	shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods singleProcessOOMKill
	streamingConnectionIdleTimeout systemCgroups systemReservedCgroup tlsCertFile tlsCipherSuites
	tlsCurvePreferences tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions
	topologyManagerScope tracing userNamespaces volumePluginDir volumeStatsAggPeriod`

// fieldSetting is a field of the file, converted to the value of a flag.
type fieldSetting struct {
	field, flag, value string
	line               int
}

// parsedConfig is the content of a configuration file.
type parsedConfig struct {
	settings []fieldSetting
	warnings []string // a sentence for each field that has no effect
}

// parseKubeletConfig parses a KubeletConfiguration in YAML or JSON. It returns a warning for each field that
// only a kubelet understands, unless the value is zero. The error has a line for each other fault.
func parseKubeletConfig(text []byte) (p parsedConfig, err error) {
	file, faults := document.Read(text, document.Bounds{Bytes: maxConfigSize, Memory: maxConfigSize})
	if len(faults) > 0 {
		return p, faults.InOrder()
	}
	if len(file.Documents) != 1 || file.Documents[0].Kind != document.Object {
		return p, errors.New("expected one KubeletConfiguration")
	}
	doc := file.Documents[0]
	known := &document.Value{Kind: document.Object, Line: doc.Line}
	for _, f := range doc.Fields {
		if slices.Contains(strings.Fields(kubeletOnlyFields), f.Name) {
			if !isZeroValue(f.Value.Text) {
				p.warnings = append(p.warnings, fmt.Sprintf("line %d: %s has no effect on this agent", f.Line, f.Name))
			}
			continue
		}
		known.Fields = append(known.Fields, f)
	}
	var c kubeletConfig
	if _, faults := file.Decode(known, &c); len(faults) > 0 {
		return p, faults.InOrder()
	}
	if c.APIVersion != "kubelet.config.k8s.io/v1beta1" || c.Kind != "KubeletConfiguration" {
		return p, errors.New("expected apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration")
	}
	p.addSettings(known, &c)
	return p, nil
}

// addSettings adds a setting for each field of the document that corresponds to a flag and is not null. It
// skips fields that must set nothing, such as many zeros. It adds a warning if registerNode is true.
func (p *parsedConfig) addSettings(doc *document.Value, c *kubeletConfig) {
	for _, f := range c.flagSettings() {
		for _, field := range doc.Fields {
			if field.Name == f.field && field.Value.Kind != document.Null && f.flag != "" {
				f.line = field.Line
				p.settings = append(p.settings, f)
			}
		}
	}
	for _, field := range doc.Fields {
		if field.Name == "registerNode" && c.RegisterNode {
			p.warnings = append(p.warnings, fmt.Sprintf("line %d: registerNode has no effect on this agent, which joins no cluster", field.Line))
		}
	}
}

// flagSettings returns every supported field with its flag and the flag's value, in the order in which the
// flags are set. The flag is "" if the value of the field must set nothing, for example a zero that means the
// kubelet's default. kubeadm writes many such zeros.
func (c *kubeletConfig) flagSettings() []fieldSetting {
	text := func(field, flag, value string) fieldSetting {
		return fieldSetting{field: field, flag: flag, value: value}
	}
	number := func(field, flag string, n int32) fieldSetting { return text(field, flag, strconv.Itoa(int(n))) }
	some := func(use bool, flag string) string {
		if use {
			return flag
		}
		return ""
	}
	unlessZero := func(field, flag, value string) fieldSetting {
		return text(field, some(value != "" && !isZeroValue(value), flag), value)
	}
	return []fieldSetting{
		text("staticPodPath", some(c.StaticPodPath != "", "manifests"), c.StaticPodPath),
		text("staticPodURL", some(c.StaticPodURL != "", "manifest-url"), c.StaticPodURL),
		text("staticPodURLHeader", "manifest-url-header", formatHeadersForFlag(c.StaticPodURLHeader)),
		unlessZero("syncFrequency", "resync", c.SyncFrequency),
		unlessZero("fileCheckFrequency", "manifest-period", c.FileCheckFrequency),
		unlessZero("httpCheckFrequency", "manifest-url-period", c.HTTPCheckFrequency),
		unlessZero("address", "address", c.Address),
		unlessZero("port", "port", strconv.Itoa(int(c.Port))),
		text("enableServer", some(c.EnableServer != nil && !*c.EnableServer, "listen"), ""),
		unlessZero("maxPods", "max-pods", strconv.Itoa(int(c.MaxPods))),
		text("registerWithTaints", some(len(c.RegisterWithTaints) > 0, "taints"), formatTaintsForFlag(c.RegisterWithTaints)),
		text("cgroupDriver", some(c.CgroupDriver != "", "cgroup-driver"), c.CgroupDriver),
		unlessZero("containerRuntimeEndpoint", "cri-endpoint", c.ContainerRuntimeEndpoint),
		unlessZero("podLogsDir", "log-dir", c.PodLogsDir),
		text("containerLogMaxSize", some(c.ContainerLogMaxSize != "", "log-max-size"), c.ContainerLogMaxSize),
		number("containerLogMaxFiles", "log-max-files", c.ContainerLogMaxFiles),
		unlessZero("imageMinimumGCAge", "image-min-age", c.ImageMinimumGCAge),
		text("imageMaximumGCAge", some(!isZeroValue(c.ImageMaximumGCAge), "image-max-age"), c.ImageMaximumGCAge),
		number("imageGCHighThresholdPercent", "image-gc-high", c.ImageGCHigh),
		number("imageGCLowThresholdPercent", "image-gc-low", c.ImageGCLow),
		number("serializeImagePulls", some(c.SerializeImagePulls, "max-parallel-pulls"), 1),
		number("maxParallelImagePulls", "max-parallel-pulls", c.MaxParallelImagePulls),
		text("allowedUnsafeSysctls", some(len(c.AllowedUnsafeSysctls) > 0, "allowed-unsafe-sysctls"), strings.Join(c.AllowedUnsafeSysctls, ",")),
		text("clusterDNS", some(len(c.ClusterDNS) > 0, "cluster-dns"), strings.Join(c.ClusterDNS, ",")),
		text("clusterDomain", some(c.ClusterDomain != "", "cluster-domain"), c.ClusterDomain),
		text("resolvConf", "resolv-conf", c.ResolvConf),
		text("systemReserved", some(len(c.SystemReserved) > 0, "system-reserved"), pairText(c.SystemReserved, "=")),
		text("kubeReserved", some(len(c.KubeReserved) > 0, "kube-reserved"), pairText(c.KubeReserved, "=")),
		text("kernelMemcgNotification", "kernel-memcg-notification", strconv.FormatBool(c.KernelNotification)),
		text("mergeDefaultEvictionSettings", "", ""), // A part of evictionHard.
		text("evictionHard", "eviction-hard", pairText(c.hardThresholds(), "<")),
		text("evictionSoft", some(len(c.EvictionSoft) > 0, "eviction-soft"), pairText(c.EvictionSoft, "<")),
		text("evictionSoftGracePeriod", some(len(c.EvictionSoftGracePeriod) > 0, "eviction-soft-grace-period"), pairText(c.EvictionSoftGracePeriod, "=")),
		text("evictionMinimumReclaim", some(len(c.EvictionMinimumReclaim) > 0, "eviction-minimum-reclaim"), pairText(c.EvictionMinimumReclaim, "=")),
		unlessZero("evictionPressureTransitionPeriod", "eviction-pressure-transition-period", c.EvictionTransition),
		number("evictionMaxPodGracePeriod", "eviction-max-pod-grace-period", c.EvictionMaxPodGrace),
		text("crashLoopBackOff", some(c.CrashLoopBackOff.Max != "", "max-container-restart-period"), c.CrashLoopBackOff.Max),
	}
}

// hardThresholds returns the hard eviction thresholds of the file. If the file wants that, it adds the kubelet's
// default for each signal that the file does not set.
func (c *kubeletConfig) hardThresholds() map[string]string {
	thresholds := map[string]string{}
	if c.MergeDefaultEviction {
		thresholds = eviction.DefaultHard()
	}
	maps.Copy(thresholds, c.EvictionHard)
	return thresholds
}

// isZeroValue reports whether a text is 0 or a zero duration, such as 0s.
func isZeroValue(value string) bool {
	d, err := time.ParseDuration(value)
	return err == nil && d == 0
}

// pairText formats values of signals or resources as the flags expect them: name, separator and value.
func pairText(values map[string]string, separator string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, name+separator+values[name])
	}
	return strings.Join(texts, ",")
}

// formatTaintsForFlag formats taints as the flag --taints expects them.
func formatTaintsForFlag(taints []v1.Taint) string {
	var texts []string
	for _, t := range taints {
		pair := t.Key
		if t.Value != "" {
			pair += "=" + t.Value
		}
		texts = append(texts, pair+":"+string(t.Effect))
	}
	return strings.Join(texts, ",")
}

// formatHeadersForFlag formats HTTP headers as the flag --manifest-url-header expects them, one per line,
// because values may contain commas. It replaces a line break in a value by a carriage return, which the flag
// rejects. Such a value can therefore not start another header.
func formatHeadersForFlag(header map[string][]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString(strings.ReplaceAll(name+":"+value, "\n", "\r") + "\n")
		}
	}
	return b.String()
}
