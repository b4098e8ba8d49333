// Package poduid has the one rule for the UID of a pod. A UID becomes the name of
// directories and files, and a part of such names, so each package that takes UIDs
// from outside or makes names of them asks here.
//
// # The rule
//
// A UID has 1 to 128 bytes: letters, digits, '-', '_' and '.'. It begins with a
// letter or a digit. So no UID begins with a dot: such names belong to the packages
// themselves (temporary files, directories that are being removed). Every UID that
// an API server gives meets the rule.
//
// # Differences from the kubelet
//
//   - The kubelet takes any UID of a manifest; "../.." as a UID leads out of its
//     directory of pods.
package poduid
