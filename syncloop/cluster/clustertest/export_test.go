package clustertest

// DesiredTaints is desiredTaints.
var DesiredTaints = desiredTaints
