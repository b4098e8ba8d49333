// Package poduid checks the UID of a pod. A UID becomes a part of the names of directories
// and files, so each package that gets UIDs from outside, or makes names of them, uses this
// check.
//
// A UID has 1 to 128 bytes: letters, digits, '-', '_' and '.'. It begins with a letter or a
// digit, so no UID begins with a dot: names with a leading dot belong to the packages
// (temporary files, directories that are being removed). Every UID of an API server passes.
package poduid
