"""Used by make_models.py for packages with bpe.model: Argos Translate's tokenizer for them, from its parts sacremoses and
subword-nmt, and texts for learning pieces and for translating."""
import io

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

MERGES = 260


class Words:
    """argostranslate.tokenizer.BPETokenizer."""

    def __init__(self, codes, source, target):
        self.normalizer, self.tokenizer = MosesPunctNormalizer(source), MosesTokenizer(source)
        self.detokenizer, self.bpe = MosesDetokenizer(target), BPE(io.StringIO(codes))

    def encode(self, text):
        words = " ".join(self.tokenizer.tokenize(self.normalizer.normalize(text)))
        return self.bpe.segment_tokens(words.strip("\r\n ").split(" "))

    def decode(self, tokens):
        return self.detokenizer.detokenize(" ".join(tokens).replace("@@ ", "").split(" "))


def learn(source, target, version):
    """BPE codes learnt from the texts of both languages together, as in Argos's training."""
    lines = [" ".join(MosesTokenizer(language).tokenize(MosesPunctNormalizer(language).normalize(text)))
             for language in (source, target) for text in TEXTS[language]]
    codes = io.StringIO()
    learn_bpe(io.StringIO("\n".join(lines)), codes, MERGES, min_frequency=1)
    text = codes.getvalue()
    if version == "0.1":  # as in files without a version: the end of a word is a symbol of its own
        return "\n".join(line.replace("</w>", "") for line in text.split("\n")[1:] if line.split()[1:] != ["</w>"]) + \
            "n </w>\nв о</w>\n"
    return text


def pieces_of(words, texts, unknown):
    """The vocabulary of texts, without pieces that contain an unknown character."""
    found = sorted({piece for text in texts for piece in words.encode(text)})
    return [piece for piece in found if not set(piece) & set(unknown)]


UNKNOWN = "☃⚙"

TEXTS = {
    "en": """The weather is fine today, isn't it?
It's raining; we'll stay at home.
Don't you know that I can't swim? I won't go.
"Where are you going?" she asked.
He said: "I don't know," and left.
'Single quotes,' he said, 'are harder.'
The students' books are on the teacher's desk.
In the 1990's, rock 'n' roll wasn't dead.
Mr. Smith and Dr. Jones met Mrs. Brown on Main St. at 5 p.m.
See No. 5 and No. five, Art. 12, pp. 3-7.
The U.S. economy grew by 3.5% in Q4, i.e. more than expected.
It costs $1,234.56, €99,95 or £3.
1,000,000 people, 2,5 liters, 3.14159 and .5
Call +1 (555) 010-9999 or write to info@example.org.
Visit https://www.example.com/path/to?query=1&lang=en#top now!
C++ and C# aren't F#; a/b, x=y, 5*3^2 > 44 & true | false.
<b>bold</b> &amp; [brackets] {braces} (parentheses)
Wait... what?! No way!!! Really??
To be -- or not to be - that's the question.
The well-known state-of-the-art machine-learning system—it works.
He arrived in Jan. and left in Dec. He didn't say why.
"Quoted," "twice." And “typographic” ‘quotes’ too…
What's the so-called « guillemet »?
We use ellipsis .. two .... four dots
I live in St. Louis, on Fifth Ave. near No. 10.
J. R. R. Tolkien wrote a lot.
The temperature is 20 °C; nº 5; 50 %.
A snowman ☃ stands outside.
Smile 😀, thumbs up 👍🏽!
Naïve café résumé, Zoë and Šárka.
The word for weather is 天气 in Chinese and погода in Russian.
Tom @Home #hashtag $HOME ~user ^caret _under_score `code`
Tab	and  double   spaces are kept?
You'll've seen it: they're, we've, I'd, she'd.
O'Neill's o'clock isn't d'Artagnan's.
The end of a quote.'
The end of "a quote."
Sentence ends with etc.
Sentence ends with e.g.
(Parenthesised sentence.)
Is 5,000, 6,000, or 7, the answer,
''Two single'' quotes and ``backticks''.
M. Dupont isn't Mr. Dupont.
AT&T, R&D and Q&A.
3-5 days, 10:30 a.m., 24/7, 50/50
The file is ~/a.txt or C:\\temp\\b.doc.
I've £5, ¥100 and ₽200.
You said "yes" ; I said "no" .
one,two,three and one, two , three""",
    "de": """Das Wetter ist heute schön, nicht wahr?
Es regnet; wir bleiben zu Hause.
„Wohin gehst du?“, fragte sie.
Er sagte: "Ich weiß es nicht", und ging.
Die Bücher der Studenten liegen auf dem Tisch (des Lehrers).
Herr Dr. Müller traf Frau Prof. Schmidt am 19. Mai 2020.
Das kostet 1.234,56 € oder 99 $, z. B. im Geschäft.
Schreiben Sie an info@example.org - oder nicht!
C++ & C# | F# <b> [x] {y}
Warte ... was?! Nein!!
Wir sind Freunde, usw. 3,5 % bzw. 20 °C.
Rock 'n' Roll ist nicht tot.""",
    "ru": """Сегодня хорошая погода, не правда ли?
Идёт дождь; мы останемся дома.
«Куда ты идёшь?» — спросила она.
Он сказал: «Я не знаю», и ушёл.
Книги студентов лежат на столе (учителя).
В 1990-е гг. всё было иначе.
Г. Иванов и д-р Петров встретились на ул. Ленина, д. 5.
А. С. Пушкин родился в 1799 г. в Москве.
Это стоит 1 234,56 руб. или 99 $, т.е. дорого.
Рост составил 3,5 % в 4-м кв. 2020 г.
Звоните по тел. +7 (495) 010-99-99.
Пишите на info@example.org или https://example.org/путь?x=1&y=2
Подождите... что?! Нет!!!
Быть или не быть — вот в чём вопрос.
Иван-чай, кто-нибудь, по-русски, из-за.
Он прочитал „Войну и мир“ и "Анну Каренину".
[Скобки], {фигурные} и (круглые) & <теги> | черта
Температура 20 °C, № 5, § 7.
Снеговик ☃ стоит на улице.
Слово weather значит погода, а 天气 тоже.
Об'єкт и під'їзд — украинские слова.
'Одиночные кавычки' и ''двойные''.
Он сказал "да". Она сказала "нет."
Конец предложения и т.д.
Конец предложения и т. п.
1,5 литра, 2.5 литра, 1,000, 3,
Улыбка 😀 и смайл :) ;-)
Ё-моё… Ну и ну..
раз,два,три и раз , два
Табуляция	и  пробелы
См. рис. 5, табл. 3 и стр. 10.
СССР, США, ООН и т.п. организации.
Доллар $, евро €, рубль ₽, фунт £.
«Вложенные „кавычки“ здесь».
Сколько времени? 10:30, 24/7.
И. о. директора — М. Н. Сидоров.
Это`код` и _подчёркивание_ и ~тильда ^ @имя #тег
Тысяча (1000) рублей; сто (100) копеек.
5-10 км/ч, 3×4=12, а+б>в
Да?Нет!Возможно.""",
    "zh": """今天天气很好，不是吗？
正在下雨；我们待在家里。
“你去哪里？”她问。
他说：“我不知道”，然后走了。
学生的书在（老师的）桌子上。
《红楼梦》是一部小说。
这个东西要 1,234.56 元，或者 99 美元。
增长了 3.5%，比预期高。
请致电 010-9999 或写信到 info@example.org。
请访问 https://www.example.com/路径?x=1&y=2 现在！
C++ 和 C# 不是 F#。
等等……什么？！不！！！
他喜欢苹果、香蕉和橙子。
「引号」和『双引号』
［方括号］{花括号}(圆括号)<尖括号>
他在1990年代出生于U.S.A.，No. 5号房。
气温是20°C，风力5-6级。
雪人☃站在外面。
英语的weather就是天气。
J. K. 罗琳写了《哈利·波特》。
“天气”，'天气'，‘天气’
上午10:30，24/7，50/50
你好,世界!Hello, world!
笑脸😀和👍🏽！
第1章 第2节 . 结束.
它的价格是￥100，约合€12或£10。
AT&T 和 R&D | 研究
——破折号——还有…省略号
一,二,三,1,2,3
全角１２３ＡＢＣ　空格
々〇〆 古汉字 𠮷野家
カタカナ和ひらがな和한국어
他说"好"。她说"不好".
Mr. Wang 去了 Beijing.
完。""",
    "fr": """Il fait beau aujourd'hui, n'est-ce pas ?
Il pleut ; nous restons à la maison.
« Où vas-tu ? » demanda-t-elle.
L'eau, l'air et l'arbre qu'il a vus, c'est l'été !
Il a dit : "Je ne sais pas", puis il est parti.
Cela coûte 1 234,56 € ou 99 $ (p. ex. ici).
M. Dupont et Mme Durand [le 14 juillet] {x} <y> & 50 %.
Attendez... quoi ?! Non !!
Les livres des élèves d'Anne: 'rouges' et "verts".
J'aime lorsqu'il s'en va, d'accord ?
Qu'est-ce que c'est que ça ?
L’apostrophe typographique n’est pas ‘la même’.
“Guillemets anglais”, „allemands“ et « français ».
Il est 10 h 30 ; le train part à 11 h 05.
Le n° 5, le nº 5 et le No. 5 de la rue.
Voir p. 12, fig. 3 et chap. 4, etc.
Jean-Paul et Marie-Claire, c'est-à-dire nous.
Écrivez à info@example.org ou sur https://example.org/chemin?x=1&y=2
1 000 000 de personnes, 2,5 litres et 3.14.
J. R. Dupont, né le 1er janv. 1990 à St. Denis.
C'est 20 % moins cher : 15 $ au lieu de 20 $ !
Oui !Non ?Peut-être ;
(Voir [ici]) et {là} | A & B <i>c</i>
Aujourd'hui , demain ; hier .
Le mot погода est russe, 天气 est chinois.
Un bonhomme de neige ☃ dehors.
Ça va… bof.. non.
Œuvre, naïveté, Noël, garçon, où, là, être.
"Il l'a dit," dit-elle, "et l'a fait."
'L'un' et 'l'autre' s'aiment.
Sourire 😀 et clin d'œil ;-)
Fin de la phrase. Et encore une. fin.
Tél. : 01 23 45 67 89, poste n° 3.
Est-ce 5,000, 6,000 ou 7,
Le rapport a/b, x=y, 5*3^2 et 24/7.
S.N.C.F., R.A.T.P. et U.E. sont des sigles.
Dernière phrase sans point""",
}
TEXTS = {language: text.split("\n") for language, text in TEXTS.items()}
