// Package explain says why a pod is not running, what it waits for, and when its next sync is
// (experimental).
//
// It is pure. The caller fills in Facts: plain data about one pod at one moment. A node.Node does so
// from its parts; any other program can do so from a pod, its status and its records in the runtime.
// Explain returns an Explanation. Its String is a page for people, its JSON is for programs. The first
// line of the page is one sentence that names the nearest cause.
//
// Reasons, messages and conditions come from the status, so an explanation and kubectl agree. Texts are
// cut to MaxText and contain no control characters, because containers can write them. A Ring holds
// RingSize entries. testdata has a story for each kind of pod.
package explain
