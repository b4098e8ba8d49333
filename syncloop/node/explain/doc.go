// Package explain tells why a pod is not running, what it waits for, and when something happens next
// (experimental).
//
// It is pure. The caller fills in Facts: plain data of one pod at one moment. A node.Node
// does so from its parts; any other program can do so from a pod, its status and what it
// knows of the runtime. Explain returns an Explanation: its String is a page for people,
// its JSON is for programs. The first line of the page is one sentence that names the
// nearest cause.
//
// Reasons, messages and conditions are those of the status, so an explanation and kubectl
// agree. Texts are cut to MaxText and hold no control characters, because a container may
// write them. A Ring holds RingSize entries. testdata has a story for each kind of pod.
package explain
