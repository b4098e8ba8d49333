// Package find gathers the objects that pods refer to, for those who make
// environments and volumes of them.
package find
