// Package deadline says when a pod has been active for long enough: a pure
// computation on its spec and its status, the same for who ends the pod, who
// starts nothing more of it, and who tells people when that will be.
//
// Kept: AD-1, and F11 for every number of seconds of the API.
package deadline
