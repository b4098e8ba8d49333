package shell

var afar = 1
