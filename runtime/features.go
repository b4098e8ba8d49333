package runtime

// FeatureReporter is a Runtime that can do more than the roles of Runtime. A runtime without
// this method has none of the features: it needs nothing of optional.go.
type FeatureReporter interface {
	// Features returns what the runtime can do now, with itself or its parts as the roles.
	// Callers ask each time before they use a feature and keep no answer, so that the answer
	// may change when the runtime behind an adapter was replaced. Features is called
	// concurrently. It must not block: an adapter answers from what it has learned at its
	// last connection.
	Features() Features
}

// Features says what else a runtime can do. The zero value is nothing. A role is nil if the
// runtime cannot play it. A role may also return ErrUnsupported from a call, if only the call
// can find that out; the caller takes that as if the role was nil.
//
// ImageMounts and StrictGroups are unknown if the runtime has not reported them yet, or never
// does. A pod that needs an unknown one is admitted, and the request returns ErrUnsupported if
// the runtime cannot honour it.
type Features struct {
	// EventSource has changes of pods reported at once. pleg uses it.
	EventSource EventSource
	// StatusReporter is asked before a pod starts, and for the conditions of a joined node.
	StatusReporter StatusReporter
	// Versioner names the runtime in the status of a node.
	Versioner Versioner
	// Execer runs the commands of probes and hooks.
	Execer Execer
	// HandlerRunner answers probes and hooks in place of Execer and the network.
	HandlerRunner HandlerRunner
	// LogReader reads logs, for termination messages and the API of a node.
	LogReader LogReader
	// LogReopener has logs rotated. gc uses it.
	LogReopener LogReopener
	// ExecStreamer, Attacher and PortForwarder serve kubectl exec, attach and port-forward.
	ExecStreamer  ExecStreamer
	Attacher      Attacher
	PortForwarder PortForwarder
	// ImageFilesystem has images removed when their disk is full. gc uses it.
	ImageFilesystem ImageFilesystem
	// UsedImageLister keeps images that containers of others use. gc uses it.
	UsedImageLister UsedImageLister
	// StatsReader serves /stats/summary, metrics and kubectl top.
	StatsReader StatsReader
	// Updater resizes running containers. No package uses it yet.
	Updater Updater
	// PodCIDRUpdater gets the ranges of pod addresses of a joined node.
	PodCIDRUpdater PodCIDRUpdater

	// ImageMounts says which images the runtime mounts, for Mount.Image.
	ImageMounts ImageMounts
	// StrictGroups says whether the runtime honours Security.StrictGroups.
	StrictGroups Support
}

// FeaturesOf returns the features of a runtime: nothing if it is no FeatureReporter.
func FeaturesOf(rt PodLister) Features {
	if reporter, ok := rt.(FeatureReporter); ok {
		return reporter.Features()
	}
	return Features{}
}

// Support says whether a runtime can do something.
type Support uint8

// The degrees of support.
const (
	// SupportNone: it cannot.
	SupportNone Support = iota
	// SupportUnknown: it has not said so yet, or never does.
	SupportUnknown
	// SupportFull: it can.
	SupportFull
)

// ImageMounts says which Mounts with an Image a runtime can make.
type ImageMounts uint8

// What can be mounted of images.
const (
	// ImageMountsNone: the runtime mounts no images.
	ImageMountsNone ImageMounts = iota
	// ImageMountsUnknown: the runtime has not said so yet, or never does.
	ImageMountsUnknown
	// ImageMountsWhole: the runtime mounts images, and no part of one: Mount.ImageSubPath is empty.
	ImageMountsWhole
	// ImageMountsAll: the runtime mounts images and directories of images.
	ImageMountsAll
)
