// For a control that must fail: halves of surrogate pairs are taken for texts, which become something else in UTF-8.
String.prototype.isWellFormed = () => true;
