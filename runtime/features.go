package runtime

// FeatureReporter is a Runtime with optional features. A runtime without this method has none of
// the features and implements nothing of optional.go.
type FeatureReporter interface {
	// Features returns the features that the runtime has now. The runtime itself, or parts of it,
	// implement the roles. Callers call Features before each use and do not store the result. The
	// result may therefore change, for example when the runtime behind an adapter is replaced.
	// Features is called concurrently. It must not block: an adapter returns the features of its
	// last connection.
	Features() Features
}

// Features are the optional features of a runtime. The zero value has none. A role is nil if the
// runtime does not implement it. A method of a role may also return ErrUnsupported if only the call
// can find that out. The caller then behaves as if the role was nil.
//
// ImageMounts and StrictGroups are unknown if the runtime has not reported them yet, or never does.
// A pod that needs an unknown feature is admitted. The request returns ErrUnsupported if the
// runtime does not support it.
type Features struct {
	// EventSource reports pod changes at once. pleg uses it.
	EventSource EventSource
	// StatusReporter is called before a pod starts, and for the conditions of a cluster node.
	StatusReporter StatusReporter
	// Versioner returns the name and version of the runtime for the status of a node.
	Versioner Versioner
	// Execer runs the commands of probes and hooks.
	Execer Execer
	// HandlerRunner runs probes and hooks instead of Execer and network requests.
	HandlerRunner HandlerRunner
	// LogReader reads logs, for termination messages and the node API.
	LogReader LogReader
	// LogReopener reopens log files after rotation. gc uses it.
	LogReopener LogReopener
	// ExecStreamer, Attacher and PortForwarder serve kubectl exec, attach and port-forward.
	ExecStreamer  ExecStreamer
	Attacher      Attacher
	PortForwarder PortForwarder
	// ImageFilesystem reports the disk usage that starts image collection. gc uses it.
	ImageFilesystem ImageFilesystem
	// UsedImageLister protects images that containers of other owners use. gc uses it.
	UsedImageLister UsedImageLister
	// StatsReader serves /stats/summary, metrics and kubectl top.
	StatsReader StatsReader
	// Updater updates the resources of running containers. A runtime that has it should also report
	// ContainerStatus.Resources: a restarted agent then finds an update that it has not finished.
	Updater Updater
	// PodCIDRUpdater receives the pod address ranges of a cluster node.
	PodCIDRUpdater PodCIDRUpdater

	// ImageMounts defines which image mounts the runtime supports.
	ImageMounts ImageMounts
	// StrictGroups defines whether the runtime supports Security.StrictGroups.
	StrictGroups Support
	// RecursiveReadOnly has the runtime handlers that support recursive read-only mounts. The name of the default
	// handler is empty. The map never changes.
	RecursiveReadOnly map[string]bool
}

// FeaturesOf returns the features of a runtime, or none if it is no FeatureReporter.
func FeaturesOf(rt PodLister) Features {
	if reporter, ok := rt.(FeatureReporter); ok {
		return reporter.Features()
	}
	return Features{}
}

// Support is whether a runtime supports a feature.
type Support uint8

// The values of Support.
const (
	// SupportNone: the runtime does not support it.
	SupportNone Support = iota
	// SupportUnknown: the runtime has not reported it yet, or never does.
	SupportUnknown
	// SupportFull: the runtime supports it.
	SupportFull
)

// ImageMounts is which image mounts a runtime supports.
type ImageMounts uint8

// The values of ImageMounts.
const (
	// ImageMountsNone: the runtime mounts no images.
	ImageMountsNone ImageMounts = iota
	// ImageMountsUnknown: the runtime has not reported it yet, or never does.
	ImageMountsUnknown
	// ImageMountsWhole: the runtime mounts whole images only; Mount.ImageSubPath must be empty.
	ImageMountsWhole
	// ImageMountsAll: the runtime mounts images and directories of images.
	ImageMountsAll
)
