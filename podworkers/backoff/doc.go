// Package backoff says how long to wait before the next attempt. It has three policies: after a
// sync of a pod (Retry), before a container restarts (CrashLoop), and before an image is pulled
// again (ImagePull). Exponential is for anything else that fails in a row.
//
// Every policy is a plain value whose zero value is the kubelet's. Its methods are pure: the time,
// the random number and the earlier attempts are arguments, and the delay is the only result. The
// caller stores a State between two attempts and waits by its own means. A value may be used
// concurrently.
//
// # Numbers
//
// Each policy has its own defaults, so that one of them can change without another:
//
//	policy     default                     the kubelet's name of it (pkg/kubelet)
//	Retry      DefaultResync      1 min    syncFrequency
//	           DefaultBackoff     10 s     kubelet.go: backOffPeriod
//	           DefaultTransient   1 s      pod_workers.go: backOffOnTransientErrorPeriod
//	           DefaultJitter      0.5      pod_workers.go: workerBackOffPeriodJitterFactor
//	CrashLoop  DefaultCrashLoop…  10 s     kubelet.go: initialCrashLoopBackOff
//	                              5 min    kubelet.go: MaxCrashLoopBackOff
//	                              10 min   twice the maximum, as flowcontrol.Backoff has it
//	ImagePull  DefaultImagePull…  10 s     kubelet.go: imageBackOffPeriod
//	                              5 min    kubelet.go: MaxImageBackOff
//	                              10 min   twice the maximum, as flowcontrol.Backoff has it
//
// # The contract
//
//   - A delay is never negative, is never shortened by jitter, and does not overflow.
//   - A field of zero or less has its default.
//   - No delay of Retry grows by itself; AfterTransients returns the policy after repeated
//     transient errors.
//   - CrashLoop and ImagePull double from Initial to Max with each attempt. The sequence
//     begins again once more than Reset has passed since the last attempt.
//   - An attempt may be made when Remaining is zero: exactly at the end of a delay.
//
// The caller decides to what a backoff belongs, for example a container of a pod or an image of a
// pod, and which of several delays counts.
package backoff
