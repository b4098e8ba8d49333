// Package explain answers the question of whoever looks at a pod that is not as
// it should be: why is it not running, what is waited for, and when does
// something happen next.
//
// It is pure: the node gathers Facts, plain data of its parts at one moment, and
// Explain makes an Explanation of them, whose String is a page for people and
// whose JSON is for programs. The first line of the page is one sentence that
// names the nearest cause. There is a story in testdata for every row of table 2
// of the kubelet's behaviour (P1 to P33), named by its row.
//
// Statements kept: the words are those of the status (reasons, messages,
// conditions), so that an explanation and kubectl never disagree.
//
// Everything is bounded: texts are cut to MaxText and hold no control
// characters, as a container's last words may come from anybody; a Ring holds
// RingSize entries.
//
// The kubelet has nothing like it.
package explain
