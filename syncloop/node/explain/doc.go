// Package explain says why a pod is not running, what it waits for, and when
// something happens next.
//
// It is pure. The caller fills in Facts: plain data of one pod at one moment. A
// node.Node does so from its parts; any other program can, from a pod, its status and
// what it knows of the runtime. Explain returns an Explanation, whose String is a page
// for people and whose JSON is for programs. The first line of the page is one sentence
// that names the nearest cause. There is a story in testdata for every row of table 2
// of the kubelet's behaviour (P1 to P33), named by its row.
//
// Statements kept: the words are those of the status (reasons, messages,
// conditions), so that an explanation and kubectl never disagree.
//
// Everything is bounded: texts are cut to MaxText and hold no control
// characters, as a container's termination message may come from anybody; a Ring holds
// RingSize entries.
//
// The kubelet has nothing like it.
package explain
