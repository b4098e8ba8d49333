// Package deadline tells when a pod has passed its activeDeadlineSeconds. It is pure, and
// used by all that end the pod, that start nothing more of it, and that report the time. A
// deadline that no duration can hold is cut.
package deadline
